// Which execution providers this installation of ONNX Runtime carries, and how the missing ones are got. The package
// names providers that it could load; whether their library is there is a matter of its install step, which set-up
// leaves out (it downloads some hundred megabytes).
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listSupportedBackends } from 'onnxruntime-node';
import { GauntletError } from '../../core/errors.js';
import type { Device } from '../engine/engine.js';

export type Provider = Exclude<Device, 'auto'>;

/** The package's own install step, which set-up leaves out; it downloads CUDA's provider. */
export const CUDA_INSTALL = 'node node_modules/onnxruntime-node/script/install.js --onnxruntime-node-install=cuda12';
const PLATFORM = `${process.platform}/${process.arch}`;

const PREFERRED: readonly Provider[] = ['cuda', 'webgpu']; // of `auto`; else cpu
const PROBE_LIMIT_MS = 60_000; // the first start of a GPU compiles kernels

/** Names such as `cpu`, `webgpu`, `cuda`, of which the library is on this machine. */
export function listProviders(): string[] {
  const folder = join(dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json')), 'bin/napi-v6');
  return listSupportedBackends()
    .filter(({ name, bundled }) => bundled || existsSync(join(folder, PLATFORM, `libonnxruntime_providers_${name}.so`)))
    .map(({ name }) => name);
}

/** Why a provider that is installed does not start here; undefined where it does. */
export type Probe = (provider: Provider) => Promise<string | undefined>;

/**
 * What sessions run on. `auto` is the best provider that is installed and starts, else the CPU.
 * @throws {GauntletError} DEVICE_UNAVAILABLE with the way to install or to go on without
 */
export async function resolveDevice(
  device: Device = 'cpu',
  installed: readonly string[] = listProviders(),
  probe: Probe = startsHere,
): Promise<Provider> {
  if (device === 'cpu') return device;
  if (device === 'auto') {
    for (const provider of PREFERRED)
      if (installed.includes(provider) && (await probe(provider)) === undefined) return provider;
    return 'cpu';
  }
  if (!installed.includes(device)) {
    const way =
      device === 'cuda' && PLATFORM === 'linux/x64'
        ? `with CUDA 12 and cuDNN 9 on this machine, install it by: ${CUDA_INSTALL}`
        : 'ONNX Runtime has none for this platform';
    throw new GauntletError('DEVICE_UNAVAILABLE', `device ${device} is not installed; ${way}; or use cpu`);
  }
  const reason = await probe(device);
  if (reason === undefined) return device;
  throw new GauntletError('DEVICE_UNAVAILABLE', `device ${device} does not start (${reason}): use cpu, or auto`);
}

/** In a process of its own: drivers write to standard error as they like, and a broken one may end its process. */
export function startsHere(provider: Provider): Promise<string | undefined> {
  const script = fileURLToPath(new URL('./probe.js', import.meta.url));
  return new Promise((settle) => {
    execFile(process.execPath, [script, provider], { timeout: PROBE_LIMIT_MS }, (error, stdout) => {
      if (error === null) settle(undefined);
      else settle(stdout.trim() || (error.killed ? 'no answer' : `its process ended (${error.signal ?? error.code})`));
    });
  });
}

// The execution providers of this installation of ONNX Runtime. The package lists providers that it could load, but it
// only has their libraries after an install step. The project's set-up skips that step, which downloads hundreds of
// megabytes.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listSupportedBackends } from 'onnxruntime-node';
import { GauntletError } from '../../core/errors.js';
import type { Device } from '../engine/engine.js';

export type Provider = Exclude<Device, 'auto'>;

/** The package's install step, which downloads the CUDA provider. */
export const CUDA_INSTALL = 'node node_modules/onnxruntime-node/script/install.js --onnxruntime-node-install=cuda12';
const PLATFORM = `${process.platform}/${process.arch}`;

const PREFERRED: readonly Provider[] = ['cuda', 'webgpu']; // for `auto`; else cpu
const PROBE_LIMIT_MS = 60_000; // the first start on a GPU compiles kernels

/** The names (`cpu`, `webgpu`, `cuda`, …) of the providers whose library is installed. */
export function listProviders(): string[] {
  const folder = join(dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json')), 'bin/napi-v6');
  return listSupportedBackends()
    .filter(({ name, bundled }) => bundled || existsSync(join(folder, PLATFORM, `libonnxruntime_providers_${name}.so`)))
    .map(({ name }) => name);
}

/** The reason why an installed provider does not start; undefined if it starts. */
export type Probe = (provider: Provider) => Promise<string | undefined>;

/**
 * The provider for a device. `auto` is the first preferred provider that is installed and starts, else the CPU.
 * @throws {GauntletError} DEVICE_UNAVAILABLE saying how to install the provider or do without it
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
    const solution =
      device === 'cuda' && PLATFORM === 'linux/x64'
        ? `with CUDA 12 and cuDNN 9 on this machine, install it with: ${CUDA_INSTALL}`
        : 'ONNX Runtime does not support it on this platform';
    throw new GauntletError('DEVICE_UNAVAILABLE', `device ${device} is not installed; ${solution}; or use cpu`);
  }
  const reason = await probe(device);
  if (reason === undefined) return device;
  throw new GauntletError('DEVICE_UNAVAILABLE', `device ${device} does not start (${reason}): use cpu, or auto`);
}

/** Probes in a separate process, because drivers write to standard error and a broken one can crash the process. */
export function startsHere(provider: Provider): Promise<string | undefined> {
  const script = fileURLToPath(new URL('./probe.js', import.meta.url));
  return new Promise((settle) => {
    execFile(process.execPath, [script, provider], { timeout: PROBE_LIMIT_MS }, (error, stdout) => {
      if (error === null) settle(undefined);
      else settle(stdout.trim() || (error.killed ? 'no answer' : `its process ended (${error.signal ?? error.code})`));
    });
  });
}

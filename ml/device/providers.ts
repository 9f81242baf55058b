// The execution providers of this installation of ONNX Runtime. The package lists providers that it could load, but it
// only has their libraries after an install step. The project's set-up skips that step, which downloads hundreds of
// megabytes. A provider is used only if it passes the self-test.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { env, listSupportedBackends } from 'onnxruntime-node';
import { GauntletError } from '../../core/errors.js';
import type { Device } from '../engine/engine.js';

export type Provider = Exclude<Device, 'auto'>;

/** The package's install step, which downloads the CUDA provider. */
const CUDA_INSTALL = 'node node_modules/onnxruntime-node/script/install.js --onnxruntime-node-install=cuda12';
const PLATFORM = `${process.platform}/${process.arch}`;

const PREFERRED: readonly Provider[] = ['cuda', 'webgpu']; // for `auto`; else cpu
const CHECK_LIMIT_MS = 300_000; // the first start compiles kernels; a software renderer takes half a minute

/** The names (`cpu`, `webgpu`, `cuda`, …) of the providers whose library is installed. */
export function listProviders(): string[] {
  const folder = join(dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json')), 'bin/napi-v6');
  return listSupportedBackends()
    .filter(({ name, bundled }) => bundled || existsSync(join(folder, PLATFORM, `libonnxruntime_providers_${name}.so`)))
    .map(({ name }) => name);
}

/** The version of ONNX Runtime. */
export const runtimeVersion = (): string => env.versions.node ?? env.versions.common;

/** The result of the self-test. */
export interface DeviceCheck {
  fault?: string; // why the provider cannot be used
  promptBlock?: number; // the most tokens of a prompt that it reads correctly at once; absent: any number
}
export type Check = (provider: Provider) => Promise<DeviceCheck>;

export interface UsableDevice extends Pick<DeviceCheck, 'promptBlock'> {
  provider: Provider;
}

/**
 * The provider for a device. `auto` is the first preferred provider that is installed and passes, else the CPU.
 * @throws {GauntletError} DEVICE_UNAVAILABLE saying how to install the provider or do without it
 */
export async function resolveDevice(
  device: Device = 'cpu',
  installed: readonly string[] = listProviders(),
  check: Check = checkHere,
): Promise<UsableDevice> {
  if (device === 'cpu') return { provider: device };
  if (device === 'auto') {
    for (const provider of PREFERRED) {
      if (!installed.includes(provider)) continue;
      const { fault, promptBlock } = await check(provider);
      if (fault === undefined) return { provider, promptBlock };
    }
    return { provider: 'cpu' };
  }
  if (!installed.includes(device)) {
    const solution =
      device === 'cuda' && PLATFORM === 'linux/x64'
        ? `with CUDA 12 and cuDNN 9 on this machine, install it with: ${CUDA_INSTALL}`
        : 'ONNX Runtime does not support it on this platform';
    throw new GauntletError('DEVICE_UNAVAILABLE', `device ${device} is not installed; ${solution}; or use cpu`);
  }
  const { fault, promptBlock } = await check(device);
  if (fault === undefined) return { provider: device, promptBlock };
  throw new GauntletError('DEVICE_UNAVAILABLE', `device ${device} cannot be used (${fault}): use cpu, or auto`);
}

const checks = new Map<Provider, Promise<DeviceCheck>>();

/** Runs the self-test of a provider, once. */
export function checkHere(provider: Provider): Promise<DeviceCheck> {
  const known = checks.get(provider) ?? checkInProcess(provider);
  checks.set(provider, known);
  return known;
}

/** In a separate process, because drivers write to standard error and a broken one can crash the process. */
function checkInProcess(provider: Provider): Promise<DeviceCheck> {
  // CUDA rounds factors of f32 products to ten bits (TF32) unless this is set when it starts, here and in the new process
  if (provider === 'cuda') process.env.NVIDIA_TF32_OVERRIDE ??= '0';
  const script = fileURLToPath(new URL('../selfTest/process.js', import.meta.url));
  return new Promise((settle) => {
    execFile(process.execPath, [script, provider], { timeout: CHECK_LIMIT_MS }, (error, stdout) => {
      if (error === null) settle(JSON.parse(stdout.trim().split('\n').at(-1)!) as DeviceCheck);
      else settle({ fault: error.killed ? 'no answer' : `its process ended: ${error.signal ?? error.code}` });
    });
  });
}

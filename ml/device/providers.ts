// The execution providers of this installation of ONNX Runtime: the CPU, and CUDA after an install step. The project's
// set-up skips that step, which downloads hundreds of megabytes. CUDA is used only if it passes the self-test.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { env } from 'onnxruntime-node';
import { GauntletError } from '../../core/errors.js';
import { scriptArguments } from '../../infra/scripts.js';
import type { Device } from '../engine/engine.js';

export type Provider = Exclude<Device, 'auto'>;

/** Downloads the CUDA provider. */
const CUDA_INSTALL = 'node node_modules/onnxruntime-node/script/install.js --onnxruntime-node-install=cuda12';
const PLATFORM = `${process.platform}/${process.arch}`;
const CHECK_LIMIT_MS = 300_000; // the first start may compile kernels

/** The providers that are installed. */
export const listProviders = (): Provider[] => (missingForCuda().length === 0 ? ['cpu', 'cuda'] : ['cpu']);

/** The commands that install what CUDA needs and this installation lacks. */
function missingForCuda(): string[] {
  const require = createRequire(import.meta.url);
  const folder = dirname(require.resolve('onnxruntime-node/package.json'));
  const library = join(folder, 'bin/napi-v6', PLATFORM, 'libonnxruntime_providers_cuda.so');
  return [
    ...(canResolve(require, 'koffi') ? [] : ['npm install koffi']),
    ...(existsSync(library) ? [] : [CUDA_INSTALL]),
  ];
}

function canResolve(require: NodeJS.Require, name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** The version of ONNX Runtime. */
export const runtimeVersion = (): string => env.versions.node ?? env.versions.common;

/** The self-test: why a provider cannot be used, if so. */
export type Check = (provider: Provider) => Promise<string | undefined>;

/**
 * The provider for a device. `auto` is CUDA if it is installed and passes the self-test, else the CPU.
 * @throws {GauntletError} DEVICE_UNAVAILABLE saying how to install the provider or do without it
 */
export async function resolveDevice(
  device: Device = 'cpu',
  installed: readonly Provider[] = listProviders(),
  check: Check = checkHere,
): Promise<Provider> {
  if (device === 'cpu') return device;
  if (device === 'auto') return installed.includes('cuda') && (await check('cuda')) === undefined ? 'cuda' : 'cpu';
  if (device !== 'cuda') throw new GauntletError('BAD_CONFIG', `the device must be cpu, cuda or auto, is ${device}`);
  if (!installed.includes(device)) {
    const solution =
      PLATFORM === 'linux/x64'
        ? `with CUDA 12 on this machine, install it with: ${missingForCuda().join(' && ')}`
        : 'ONNX Runtime does not support it on this platform';
    throw new GauntletError('DEVICE_UNAVAILABLE', `device ${device} is not installed; ${solution}; or use cpu`);
  }
  const fault = await check(device);
  if (fault === undefined) return device;
  throw new GauntletError('DEVICE_UNAVAILABLE', `device ${device} cannot be used (${fault}): use cpu, or auto`);
}

const checks = new Map<Provider, Promise<string | undefined>>();

/** Runs the self-test of a provider, once. */
export function checkHere(provider: Provider): Promise<string | undefined> {
  const known = checks.get(provider) ?? checkInProcess(provider);
  checks.set(provider, known);
  return known;
}

/** In a separate process, because drivers write to standard error and a broken one can crash the process. */
function checkInProcess(provider: Provider): Promise<string | undefined> {
  const script = scriptArguments(new URL('../selfTest/process.js', import.meta.url));
  return new Promise((settle) => {
    execFile(process.execPath, [...script, provider], { timeout: CHECK_LIMIT_MS }, (error, stdout) => {
      if (error === null) settle((JSON.parse(stdout.trim().split('\n').at(-1)!) as { fault?: string }).fault);
      else settle(error.killed ? 'no answer' : `its process ended: ${error.signal ?? error.code}`);
    });
  });
}

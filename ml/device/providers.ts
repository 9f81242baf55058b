// The execution providers of this installation of ONNX Runtime: the CPU, and CUDA after `gauntlet setup cuda`. CUDA is used only
// if it passes the self-test.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { env } from 'onnxruntime-node';
import { GauntletError } from '../../core/base/errors.js';
import { scriptArguments } from '../../infra/scripts.js';
import type { Device } from '../engine/engine.js';
import type { Half } from '../ir/half.js';

export type Provider = Exclude<Device, 'auto'>;

const PLATFORM = `${process.platform}/${process.arch}`;
const CHECK_LIMIT_MS = 300_000; // the first start may compile kernels

const require = createRequire(import.meta.url);

// With this order, CUDA counts cards as nvidia-smi does. The other variables choose kernels: results would depend on the shell.
process.env.CUDA_DEVICE_ORDER = 'PCI_BUS_ID';
for (const name of Object.keys(process.env))
  if (/^(ORT_(EN|DIS)ABLE_.*|NVIDIA_TF32_OVERRIDE|CUBLAS_WORKSPACE_CONFIG)$/.test(name)) delete process.env[name];

/** Where ONNX Runtime looks for its providers. */
export const providerFolder = (): string =>
  join(dirname(require.resolve('onnxruntime-node/package.json')), 'bin/napi-v6', PLATFORM);

export const hasCudaProvider = (folder = providerFolder()): boolean =>
  existsSync(join(folder, 'libonnxruntime_providers_cuda.so'));

export function hasKoffi(): boolean {
  try {
    require.resolve('koffi');
    return true;
  } catch {
    return false;
  }
}

/** CUDA has kernels for Linux on x64 only. */
export const supportsCuda = (): boolean => PLATFORM === 'linux/x64';

export const listProviders = (): Provider[] => (hasKoffi() && hasCudaProvider() ? ['cpu', 'cuda'] : ['cpu']);

export const runtimeVersion = (): string => env.versions.node ?? env.versions.common;

/** Runs the self-test. @returns why the provider cannot be used; undefined if it can */
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
    const solution = supportsCuda() ? 'run gauntlet setup cuda' : 'ONNX Runtime does not support it on this platform';
    throw new GauntletError('DEVICE_UNAVAILABLE', `device ${device} is not installed: ${solution}, or use cpu`);
  }
  const fault = await check(device);
  if (fault === undefined) return device;
  throw new GauntletError('DEVICE_UNAVAILABLE', `device ${device} cannot be used (${fault}): use cpu, or auto`);
}

const checks = new Map<string, Promise<string | undefined>>();

/** Runs the self-test of a provider, once. @param half the type of 16 bits that is tested; absent: f32 */
export function checkHere(provider: Provider, half?: Half): Promise<string | undefined> {
  const key = `${provider} ${half}`;
  const known = checks.get(key) ?? checkInProcess(half ? [provider, half] : [provider]);
  checks.set(key, known);
  return known;
}

/** Runs the self-test in a separate process: drivers write to standard error, and a broken one can crash a process. */
function checkInProcess(args: string[]): Promise<string | undefined> {
  const script = scriptArguments(new URL('../selfTest/process.js', import.meta.url));
  return new Promise((settle) => {
    execFile(process.execPath, [...script, ...args], { timeout: CHECK_LIMIT_MS }, (error, stdout) => {
      if (error === null) settle((JSON.parse(stdout.trim().split('\n').at(-1)!) as { fault?: string }).fault);
      else settle(error.killed ? 'no answer' : `its process ended: ${error.signal ?? error.code}`);
    });
  });
}

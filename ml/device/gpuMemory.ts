// What NVIDIA's driver says about the first GPU that CUDA uses.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Provider } from './providers.js';

const LIMIT_MS = 10_000;

/** Free bytes. Undefined for the CPU, or if the driver does not answer. */
export async function freeGpuMemory(provider: Provider): Promise<number | undefined> {
  if (provider !== 'cuda') return undefined;
  const mebibytes = Number.parseInt((await queryGpu('memory.free'))?.[0] ?? '', 10);
  return Number.isNaN(mebibytes) ? undefined : mebibytes * 2 ** 20;
}

/** NVIDIA H100 80GB HBM3, 79.6 GiB, driver 580.65.06. Undefined if the driver does not answer. */
export async function describeGpu(): Promise<string | undefined> {
  const [name, mebibytes, driver] = (await queryGpu('name,memory.total,driver_version')) ?? [];
  return driver && `${name}, ${(Number(mebibytes) / 1024).toFixed(1)} GiB, driver ${driver}`;
}

/** Fields of nvidia-smi --query-gpu, without units. Undefined if the driver does not answer. */
export async function queryGpu(fields: string): Promise<string[] | undefined> {
  const gpu = process.env.CUDA_VISIBLE_DEVICES?.split(',')[0] || '0';
  const asked = [`--query-gpu=${fields}`, '--format=csv,noheader,nounits', `--id=${gpu}`];
  const answer = await promisify(execFile)('nvidia-smi', asked, { timeout: LIMIT_MS }).catch(() => undefined);
  return answer?.stdout.split(',').map((field) => field.trim());
}

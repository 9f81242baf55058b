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

export interface Gpu {
  name: string;
  bytes: number; // of memory
  driver: string;
}

/** Undefined if the driver does not answer. */
export async function findGpu(): Promise<Gpu | undefined> {
  const [name, mebibytes, driver] = (await queryGpu('name,memory.total,driver_version')) ?? [];
  return name && driver ? { name, bytes: Number(mebibytes) * 2 ** 20, driver } : undefined;
}

/** NVIDIA H100 80GB HBM3, 79.6 GiB, driver 580.65.06 */
export const describeGpu = ({ name, bytes, driver }: Gpu): string =>
  `${name}, ${(bytes / 2 ** 30).toFixed(1)} GiB, driver ${driver}`;

/** The size by which a card is known: 24 for one of 24,564 MiB. */
export const gigabytesOf = ({ bytes }: Gpu): number => Math.round(bytes / 2 ** 30);

/** Fields of nvidia-smi --query-gpu, without units. Undefined if the driver does not answer. */
export async function queryGpu(fields: string): Promise<string[] | undefined> {
  const gpu = process.env.CUDA_VISIBLE_DEVICES?.split(',')[0] || '0';
  const asked = [`--query-gpu=${fields}`, '--format=csv,noheader,nounits', `--id=${gpu}`];
  const answer = await promisify(execFile)('nvidia-smi', asked, { timeout: LIMIT_MS }).catch(() => undefined);
  return answer?.stdout.split(',').map((field) => field.trim());
}

// Asks NVIDIA's driver about the first GPU that CUDA uses.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const LIMIT_MS = 10_000;

export interface Gpu {
  name: string;
  bytes: number; // size of its memory
  driver: string;
  capability: string; // for example 9.0
}

/** Finds the first GPU. Undefined if the driver does not answer. */
export async function findGpu(): Promise<Gpu | undefined> {
  const [name, mebibytes, driver, capability] = (await queryGpu('name,memory.total,driver_version,compute_cap')) ?? [];
  return name && driver && capability ? { name, bytes: Number(mebibytes) * 2 ** 20, driver, capability } : undefined;
}

/** For example: NVIDIA H100 80GB HBM3, 79.6 GiB, driver 580.65.06 */
export const describeGpu = ({ name, bytes, driver }: Gpu): string =>
  `${name}, ${(bytes / 2 ** 30).toFixed(1)} GiB, driver ${driver}`;

/** The values of fields of nvidia-smi --query-gpu, without units. Undefined if the driver does not answer. */
export async function queryGpu(fields: string): Promise<string[] | undefined> {
  const gpu = process.env.CUDA_VISIBLE_DEVICES?.split(',')[0] || '0';
  const asked = [`--query-gpu=${fields}`, '--format=csv,noheader,nounits', `--id=${gpu}`];
  const answer = await promisify(execFile)('nvidia-smi', asked, { timeout: LIMIT_MS }).catch(() => undefined);
  return answer?.stdout.split(',').map((field) => field.trim());
}

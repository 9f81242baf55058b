// The memory of a GPU, as far as it can be read.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Provider } from './providers.js';

const LIMIT_MS = 10_000;

/** Free bytes of the first GPU that CUDA uses. Undefined for the CPU. */
export async function freeGpuMemory(provider: Provider): Promise<number | undefined> {
  if (provider !== 'cuda') return undefined;
  const gpu = process.env.CUDA_VISIBLE_DEVICES?.split(',')[0] || '0';
  const query = ['--query-gpu=memory.free', '--format=csv,noheader,nounits', `--id=${gpu}`];
  const answer = await promisify(execFile)('nvidia-smi', query, { timeout: LIMIT_MS }).catch(() => undefined);
  const mebibytes = Number.parseInt(answer?.stdout ?? '', 10);
  return Number.isNaN(mebibytes) ? undefined : mebibytes * 2 ** 20;
}

// How a machine's cores are shared out. It never shows in a result.
import { availableParallelism } from 'node:os';
import { GauntletError } from '../../core/errors.js';
import { isLarge, outgrowsCache } from '../engine/base.js';
import type { EngineOptions } from '../engine/engine.js';

export interface ThreadPlan {
  workers: number;
  threads: number; // of each worker's sessions
}

/**
 * A small model runs on one worker per core: a product of small matrices gains little from a second thread. A large one
 * runs on one worker with all cores: its products are large, and every further worker would keep activations and
 * unpacked weights of its own. `cores`, else GAUNTLET_THREADS, is how many of them to use.
 * @throws {GauntletError} BAD_CONFIG
 */
export function planThreads(
  model: { parameters: number },
  options: Pick<EngineOptions, 'cores' | 'workers' | 'threads'> = {},
): ThreadPlan {
  const set = process.env.GAUNTLET_THREADS;
  const cores = count('GAUNTLET_THREADS', options.cores ?? (set ? Number(set) : availableParallelism()));
  const workers = count('workers', options.workers ?? (isLarge(model) ? 1 : cores));
  const share = isLarge(model) ? Math.max(1, Math.floor(cores / workers)) : 1;
  return { workers, threads: count('threads', options.threads ?? share) };
}

const CHUNK_ROWS = 32; // that step together; also keeps their caches in the processor's

/** Threads for each of some jobs that run side by side: cores that would be idle help the others. */
export const threadsOf = (jobs: number, { workers, threads }: ThreadPlan): number =>
  Math.max(threads, Math.floor((workers * threads) / Math.max(1, jobs)));

/** Rows of a chunk, of `count` that are generated: as many chunks for every worker. */
export function chunkRows(count: number, { workers }: ThreadPlan): number {
  const rounds = Math.max(1, Math.ceil(count / (CHUNK_ROWS * workers)));
  return Math.max(1, Math.ceil(count / (rounds * workers)));
}

const FEW_ROWS = 32; // whose steps read weights for longer than they compute

/**
 * How `count` rows are generated: a worker each for its share of them, or, few rows of weights that no cache keeps, one
 * worker with all cores, since two would read the weights twice.
 */
export function decodePlan(
  model: { parameters: number },
  count: number,
  plan: ThreadPlan,
): { rows: number; threads: number } {
  if (isLarge(model) || !outgrowsCache(model) || count > FEW_ROWS)
    return { rows: chunkRows(count, plan), threads: plan.threads };
  return { rows: Math.max(1, count), threads: threadsOf(1, plan) };
}

/** Rows that are generated side by side at most. */
export const concurrentRows = ({ workers }: ThreadPlan): number => CHUNK_ROWS * workers;

function count(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new GauntletError('BAD_CONFIG', `${name} must be a positive integer, is ${value}`);
}

// Assigns cores to workers and threads. The assignment changes no result.
import { availableParallelism } from 'node:os';
import { GauntletError } from '../../core/base/errors.js';
import { DECODE_SLOTS } from '../decode/decodeSession.js';
import { exceedsL2, isLarge } from '../engine/base.js';
import type { EngineOptions } from '../engine/engine.js';

export interface ThreadPlan {
  workers: number;
  threads: number; // threads of each worker's sessions
}

/**
 * One worker per core, because many operations gain little from a second thread. A large model has at most as many as
 * memory allows, since each has its own activations and graphs. The number of cores is `cores`, else GAUNTLET_THREADS.
 * @param trainers how many workers can train a large model at a time; default 1
 * @throws {GauntletError} BAD_CONFIG
 */
export function planThreads(
  model: { parameters: number },
  options: Pick<EngineOptions, 'cores' | 'workers' | 'threads'> & { trainers?: number } = {},
): ThreadPlan {
  const set = process.env.GAUNTLET_THREADS;
  const cores = positive('GAUNTLET_THREADS', options.cores ?? (set ? Number(set) : availableParallelism()));
  const most = isLarge(model) ? Math.max(1, options.trainers ?? 1) : cores;
  const workers = positive('workers', options.workers ?? Math.min(most, cores));
  const share = isLarge(model) ? Math.max(1, Math.floor(cores / workers)) : 1;
  return { workers, threads: positive('threads', options.threads ?? share) };
}

/** The threads of each of `jobs` parallel jobs: fewer jobs than workers leave cores to share. */
export const threadsOf = (jobs: number, { workers, threads }: ThreadPlan): number =>
  Math.max(threads, Math.floor((workers * threads) / Math.max(1, jobs)));

const MEMORY_BOUND = 32; // sequences; a step of at most this many takes longer to read weights than to compute

/**
 * How `count` sequences are generated: `size` sequences per worker. The workers of a small model share them. One worker with all
 * cores takes all of them in two cases: they are few and the weights exceed the L2 cache, because two workers would read the
 * weights twice; or the model is large, because each worker would also copy the weights.
 */
export function decodePlan(
  model: { parameters: number },
  count: number,
  plan: ThreadPlan,
): { size: number; threads: number } {
  if (!isLarge(model) && (!exceedsL2(model) || count > MEMORY_BOUND))
    return { size: Math.max(1, Math.ceil(count / plan.workers)), threads: plan.threads };
  return { size: Math.max(1, count), threads: threadsOf(1, plan) };
}

/** The most sequences that are generated in parallel. */
export const concurrentSequences = (model: { parameters: number }, { workers }: ThreadPlan): number =>
  DECODE_SLOTS * (isLarge(model) ? 1 : workers);

function positive(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new GauntletError('BAD_CONFIG', `${name} must be a positive integer, is ${value}`);
}

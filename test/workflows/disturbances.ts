// Helpers for tests of runs: short configurations, an undisturbed run, and ways to hold or fail the doubles.
import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { GauntletError } from '../../core/base/errors.js';
import type { Request } from '../../core/run/control.js';
import type { RunResult } from '../../core/schema/run.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import type { Store } from '../../store/store.js';
import { type Doubles, memoryDoubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

/** One discriminator step and three generator steps, each with one engine update. */
export const RUN = {
  ...SMALL_RUN,
  stages: [5],
  ppo: { ...SMALL_RUN.ppo, epochs: 1, learningRate: 1e-4, minibatch: 1000, warmupSteps: 0 },
  schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 3, alternatingSteps: 0 },
  batch: { generator: { problems: 3, samples: 4 }, discriminator: { problems: 2, samples: 4 } }, // in every step, rewards differ
  evaluation: { problems: 2, testProblems: 2 },
};

/** Two stages with two steps each. */
export const TWO_STAGES = {
  ...RUN,
  stages: [1, 5],
  schedule: { stages: [1, 5], discriminatorSteps: 1, generatorSteps: 1, alternatingSteps: 0 },
};

/** The digest of every file of every checkpoint. */
export type Bytes = Record<string, Record<string, string>>;

export async function bytesOf(store: Store, runId: string): Promise<Bytes> {
  return Object.fromEntries((await listCheckpoints(store, runId)).map(({ name, files }) => [name, files]));
}

interface Undisturbed {
  bytes: Bytes;
  result: RunResult;
}
const known = new Map<string, Promise<Undisturbed>>();

/**
 * An undisturbed run of the same configuration in this process.
 * @param asked number of steps → the requests that are made after them
 */
export function undisturbed(config: object = RUN, asked: Record<number, Request[]> = {}): Promise<Undisturbed> {
  const key = JSON.stringify([config, asked]);
  if (!known.has(key)) known.set(key, runUndisturbed(config, asked));
  return known.get(key)!;
}
async function runUndisturbed(config: object, asked: Record<number, Request[]>): Promise<Undisturbed> {
  const other = await memoryDoubles();
  const queue = [...(asked[0] ?? [])];
  const result = await runPipeline(createActivities(other.deps), 'other', config, {
    requests: { take: () => queue.shift() },
    onProgress: ({ step }) => void queue.push(...(asked[step ?? -1] ?? [])),
  });
  const bytes = await bytesOf(other.deps.store, 'other');
  assert.ok(Object.keys(bytes).length >= 2);
  return { bytes, result };
}

export interface Hold {
  /** Settles when a call waits. */
  reached: Promise<void>;
  release(): void;
}

/** Holds and failures of the activities' dependencies. @param current returns the doubles of the current test */
export function disturbances(current: () => Doubles) {
  let holds: Hold[] = [];

  function newHold(): Hold & { wait(): Promise<void> } {
    let release = (): void => undefined;
    let reach = (): void => undefined;
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const released = new Promise<void>((resolve) => (release = resolve));
    const wait = (): Promise<void> => {
      reach();
      return released;
    };
    const hold = { reached, release, wait };
    holds.push(hold);
    return hold;
  }
  /** Calls `act` with the number of the call before each engine update. Each step has one update. */
  function beforeUpdate(act: (call: number) => void | Promise<void>): { calls: number } {
    const { engine } = current();
    const { applyUpdate } = engine;
    const counter = { calls: 0 };
    engine.applyUpdate = async (...args: Parameters<typeof applyUpdate>) => {
      await act(++counter.calls);
      return applyUpdate.apply(engine, args);
    };
    return counter;
  }
  /** Makes engine update `n` and all later ones wait until they are released. */
  function holdUpdate(n: number): Hold & { counter: { calls: number } } {
    const hold = newHold();
    const counter = beforeUpdate((call) => (call >= n ? hold.wait() : undefined));
    return { ...hold, counter };
  }
  /** Makes minibatch `n` wait until it is released or cancelled. @returns also the number of each call so far */
  function holdGradients(n: number): Hold & { calls: number[] } {
    const hold = newHold();
    const { engine } = current();
    const { gradients } = engine;
    const calls: number[] = [];
    engine.gradients = async (...args: Parameters<typeof gradients>) => {
      if (calls.push(calls.length + 1) === n) await Promise.race([hold.wait(), aborted(args[1].signal)]);
      return gradients.apply(engine, args);
    };
    return { ...hold, calls };
  }
  /** Makes engine updates fail from call `from` until call `to`, or until `repair` is called. */
  function failUpdates(from: number, to = Number.POSITIVE_INFINITY) {
    let isBroken = true;
    const counter = beforeUpdate((call) => {
      if (isBroken && call >= from && call < to) throw new GauntletError('BAD_ADAPTER', 'the adapter is damaged');
    });
    const repair = (): void => {
      isBroken = false;
    };
    return { counter, repair };
  }
  /** Calls `act` with the path of each file of the run before it is written. */
  function beforeWrite(act: (path: string) => void | Promise<void>): void {
    const { store } = current().deps;
    const { writeRunFile, createRunFile } = store;
    store.writeRunFile = async (runId, path, bytes) => {
      await act(path);
      return writeRunFile.call(store, runId, path, bytes);
    };
    store.createRunFile = async (runId, path, bytes) => {
      await act(path);
      return createRunFile.call(store, runId, path, bytes);
    };
  }
  /** Makes writes of this file of the run wait until they are released. */
  function holdWrite(file: string): Hold {
    const hold = newHold();
    beforeWrite((path) => (path === file ? hold.wait() : undefined));
    return hold;
  }
  /** Makes writes of this file of the run fail until `repair` is called. */
  function failWrite(file: string): { repair(): void } {
    let isBroken = true;
    beforeWrite((path) => {
      if (isBroken && path === file) throw new GauntletError('BAD_INPUT', `cannot write ${file}`);
    });
    return {
      repair: () => {
        isBroken = false;
      },
    };
  }

  /** Must be called after each test. */
  function releaseAll(): void {
    for (const hold of holds) hold.release();
    holds = [];
  }

  return { beforeUpdate, holdUpdate, holdGradients, failUpdates, beforeWrite, holdWrite, failWrite, releaseAll };
}

const aborted = (signal?: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));

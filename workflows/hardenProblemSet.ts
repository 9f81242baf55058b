// Adds tests to the problems of a set: those that catch wrong programs which pass the given tests.
import { defineQuery, setHandler } from '@temporalio/workflow';
import type { Ref } from '../core/base/ref.js';
import { type Hardened, type HardenProblemsInput, hardenProblems } from '../method/judge.js';
import { unwrapFailure } from './failures.js';
import { temporalCall } from './layers.js';

export interface HardenProblemSetInput extends Omit<HardenProblemsInput, 'part'> {
  parts: HardenProblemsInput['part'][];
}

/** How many parts are done. */
export const partsDone = defineQuery<number>('partsDone');

const TOGETHER = 2; // parts at a time, so that a program that waits keeps no core idle

export async function hardenProblemSet({ parts, ...shared }: HardenProblemSetInput): Promise<Ref<Hardened[]>[]> {
  const call = temporalCall();
  const hardened: Ref<Hardened[]>[] = [];
  let [next, done] = [0, 0];
  setHandler(partsDone, () => done);
  const work = async (): Promise<void> => {
    while (next < parts.length) {
      const at = next++;
      ({ hardened: hardened[at]! } = await call(hardenProblems, { ...shared, part: parts[at]! }));
      done++;
    }
  };
  try {
    await Promise.all(Array.from({ length: TOGETHER }, work));
    return hardened;
  } catch (error) {
    throw unwrapFailure(error);
  }
}

// What a run changed, as a story: one program that a test of the discriminator found wrong, and what became of it.
import { CachedStore } from '../../dashboard/data/cachedStore.js';
import { History } from '../../dashboard/data/history.js';
import { readRunRecords, stepsOf } from '../../dashboard/data/records.js';
import { readGroup, readRollouts } from '../../dashboard/data/rollouts.js';
import { unlessLost } from '../../store/memo.js';
import type { ObjectStore } from '../../store/objectStore.js';

export interface Story {
  problemId: string;
  description: string;
  before: { step: number; program: string };
  after: { step: number; program: string };
  test: { stage: number; call: string; expected: string }; // a valid test that the program before fails
}

const TRIED = 20; // how many problems are tried

/** Tells the story of the problem whose programs improved most from its first group to its last. Undefined if none improved. */
export async function findStory(files: ObjectStore, runId: string): Promise<Story | undefined> {
  const store = new CachedStore(files);
  const steps = stepsOf(await readRunRecords(store, runId));
  const { problems } = await new History(store).problems(steps);
  const changed = problems.flatMap(({ id, points }) => {
    const own = points.filter(({ role }) => role === 'generator');
    const [first, last] = [own[0], own.at(-1)];
    return first && last && last.good > first.good ? [{ id, first, last, gain: last.good - first.good }] : [];
  });
  const groupAt = async ({ step, group }: { step: number; group: number }) => {
    const record = steps.find((each) => each.step === step)!;
    return readGroup(store, runId, await readRollouts(store, record), group);
  };
  for (const { id, first, last } of changed.sort((a, b) => b.gain - a.gain).slice(0, TRIED)) {
    const story = await unlessLost(async (): Promise<Story | undefined> => {
      const [before, after] = [await groupAt(first), await groupAt(last)];
      const later = after.programs.find(({ outcome }) => outcome === 'passed');
      for (const { sample, program } of before.programs.filter(({ outcome }) => outcome === 'failed')) {
        const turns = before.turns.filter(({ chainSample }) => chainSample === sample);
        const caught = turns.flatMap(({ stage, tests }) => tests.map((test) => ({ stage, ...test })));
        const test = caught.find(({ outcome }) => outcome === 'caught');
        if (test === undefined || later === undefined) continue;
        return {
          problemId: id,
          description: before.problem.description,
          before: { step: first.step, program },
          after: { step: last.step, program: later.program },
          test: { stage: test.stage, call: test.call, expected: test.expected },
        };
      }
      return undefined;
    });
    if (story) return story;
  }
  return undefined;
}

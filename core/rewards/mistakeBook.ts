// The mistake book keeps tests that programs failed. Later programs are judged on them too, so that old bugs stay fixed.
import { type RandomStream, weightedSample } from '../base/random.js';
import type { TestCase } from '../schema/problem.js';
import { type SuiteTest, testKey } from './suite.js';

export interface BookEntry {
  test: TestCase;
  weight: number; // always positive
}

/** Problem id → entries, in the order in which they joined. */
export type MistakeBook = Record<string, BookEntry[]>;

/** A test of a judged suite. */
export interface ExecutedTest extends SuiteTest {
  failed: boolean; // whether at least one program fails it
}

export interface BookRule {
  /** The tests of a problem that join a suite. */
  replay(entries: readonly BookEntry[], random: Pick<RandomStream, 'uniform'>): TestCase[];
  /** The book after a problem's suite was judged. Baseline tests never join: they are in every suite anyway. */
  update(book: MistakeBook, problemId: string, outcomes: readonly ExecutedTest[]): MistakeBook;
}

const REPLAYED = 8; // tests of a problem that join a suite

/**
 * Every generated test joins with a weight of `valid`, plus `caught` if a program failed it. A test draws its place in a
 * suite in proportion to its weight. Beyond `size` tests, the ones with the lowest weight are dropped, the first of the book first.
 */
export function byQuality({ valid, caught, size }: { valid: number; caught: number; size: number }): BookRule {
  return {
    replay: (entries, random) =>
      weightedSample(entries, ({ weight }) => weight, REPLAYED, random).map(({ test }) => test),
    update: (book, problemId, outcomes) => {
      const weigh = (_: number, failed: boolean): number => valid + (failed ? caught : 0);
      return limited(reweighed(book, problemId, outcomes, weigh), size);
    },
  };
}

/** A test joins when a program fails it, gains 1 with each further failure, loses 1 when all pass, and leaves at 0. */
export function byFailures({ replayed }: { replayed: number }): BookRule {
  return {
    replay: (entries) =>
      [...entries]
        .sort((a, b) => b.weight - a.weight)
        .slice(0, replayed)
        .map(({ test }) => test),
    update: (book, problemId, outcomes) =>
      reweighed(book, problemId, outcomes, (weight, failed) => weight + (failed ? 1 : -1)),
  };
}

export const entriesOf = (book: MistakeBook, problemId: string): readonly BookEntry[] =>
  Object.hasOwn(book, problemId) ? book[problemId]! : [];

/** Weighs each outcome anew, from its old weight or 0. An entry without a positive weight leaves. */
function reweighed(
  book: MistakeBook,
  problemId: string,
  outcomes: readonly ExecutedTest[],
  weigh: (weight: number, failed: boolean) => number,
): MistakeBook {
  const entries = new Map(entriesOf(book, problemId).map((entry) => [testKey(entry.test), entry]));
  for (const { origin, test, failed } of outcomes) {
    if (origin === 'baseline' || 'source' in test) continue;
    const key = testKey(test);
    const weight = weigh(entries.get(key)?.weight ?? 0, failed);
    if (weight > 0) entries.set(key, { test, weight });
    else entries.delete(key);
  }
  if (entries.size > 0) return { ...book, [problemId]: [...entries.values()] };
  const { [problemId]: _, ...others } = book;
  return others;
}

/** Without the tests of the lowest weight, if there are more than `size`. */
function limited(book: MistakeBook, size: number): MistakeBook {
  const all = Object.values(book).flat();
  if (all.length <= size) return book;
  const dropped = new Set(all.toSorted((a, b) => a.weight - b.weight).slice(0, all.length - size));
  const kept = Object.entries(book).map(
    ([id, entries]) => [id, entries.filter((entry) => !dropped.has(entry))] as const,
  );
  return Object.fromEntries(kept.filter(([, entries]) => entries.length > 0));
}

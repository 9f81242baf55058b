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

const REPLAYED = 8; // the most tests of a problem that join a suite

/**
 * Every generated test joins the book with weight `valid`, plus `caught` if a program failed it. Tests for a suite are drawn in
 * proportion to their weights. If the book has more than `size` tests, it drops those of the lowest weight.
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

/** A test joins the book when a program fails it, gains 1 with each further failure, loses 1 if all programs pass, leaves at 0. */
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

/** Computes a new weight for each tested entry from its old weight (0 if it is new). Removes entries without a positive weight. */
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

/** The book without the tests of the lowest weight, if it has more than `size` tests. */
function limited(book: MistakeBook, size: number): MistakeBook {
  const all = Object.values(book).flat();
  if (all.length <= size) return book;
  const dropped = new Set(all.toSorted((a, b) => a.weight - b.weight).slice(0, all.length - size));
  const kept = Object.entries(book).map(
    ([id, entries]) => [id, entries.filter((entry) => !dropped.has(entry))] as const,
  );
  return Object.fromEntries(kept.filter(([, entries]) => entries.length > 0));
}

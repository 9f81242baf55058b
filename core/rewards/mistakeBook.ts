// The mistake book keeps tests that programs failed. Later programs are judged on them too, so that old bugs stay fixed.
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

const REPLAYED = 8; // the most tests of a problem that join a suite

export const entriesOf = (book: MistakeBook, problemId: string): readonly BookEntry[] =>
  Object.hasOwn(book, problemId) ? book[problemId]! : [];

/** The tests of a problem that join a suite: those with the largest weights. */
export const replayedTests = (book: MistakeBook, problemId: string): TestCase[] =>
  [...entriesOf(book, problemId)]
    .sort((a, b) => b.weight - a.weight)
    .slice(0, REPLAYED)
    .map(({ test }) => test);

/**
 * The book after a problem's suites were judged; a test may be in several. A test joins when a program fails it, gains 1 with each further failure, loses 1 if
 * all programs pass, leaves at 0. Baseline tests never join: they are in every suite anyway.
 */
export function updatedBook(book: MistakeBook, problemId: string, outcomes: readonly ExecutedTest[]): MistakeBook {
  const entries = new Map(entriesOf(book, problemId).map((entry) => [testKey(entry.test), entry]));
  const failed = new Set(outcomes.filter((one) => one.failed).map(({ test }) => testKey(test)));
  for (const [key, { origin, test }] of new Map(outcomes.map((one) => [testKey(one.test), one]))) {
    if (origin === 'baseline' || 'source' in test) continue;
    const weight = (entries.get(key)?.weight ?? 0) + (failed.has(key) ? 1 : -1);
    if (weight > 0) entries.set(key, { test, weight });
    else entries.delete(key);
  }
  if (entries.size > 0) return { ...book, [problemId]: [...entries.values()] };
  const { [problemId]: _, ...others } = book;
  return others;
}

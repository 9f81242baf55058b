// The test suite of a group, and the pool of a problem's recent tests. All samples of a group are judged on the same
// suite. Otherwise group-normalised advantages would compare different things.
import type { TestCase } from '../schema/problem.js';
import type { Value } from '../schema/value.js';

export interface SuiteTest {
  origin: 'baseline' | 'book' | 'generated';
  test: TestCase;
}

const POOL_SIZE = 8; // tests of a problem

const keys = new WeakMap<readonly Value[], string>(); // a list of arguments is looked up many times

/** Equal for equal argument lists. Types count: 1, 1.0 and True differ. */
export function inputKey(args: readonly Value[]): string {
  let key = keys.get(args);
  if (key === undefined) {
    key = JSON.stringify(args);
    keys.set(args, key);
  }
  return key;
}

/** Baseline tests first, then those of the mistake book, then valid generated ones. The first test of each input is used. */
export function assembleSuite(
  baseline: readonly TestCase[],
  generated: readonly TestCase[],
  book: readonly TestCase[] = [],
): SuiteTest[] {
  const suite = new Map<string, SuiteTest>();
  const add = (origin: SuiteTest['origin'], tests: readonly TestCase[]): void => {
    for (const test of tests) if (!suite.has(inputKey(test.args))) suite.set(inputKey(test.args), { origin, test });
  };
  add('baseline', baseline);
  add('book', book);
  add('generated', generated);
  return [...suite.values()];
}

/** Problem id → its latest valid generated tests, oldest first. */
export type TestPool = Record<string, TestCase[]>;

// an id may be 'constructor'
export const poolOf = (pool: TestPool, problemId: string): TestCase[] =>
  Object.hasOwn(pool, problemId) ? pool[problemId]! : [];

/** Returns a new pool with tests of one problem added. Duplicates are skipped and the oldest tests are dropped. */
export function addToPool(pool: TestPool, problemId: string, tests: readonly TestCase[]): TestPool {
  const kept = new Map<string, TestCase>();
  for (const test of [...poolOf(pool, problemId), ...tests]) {
    const key = JSON.stringify([test.args, test.expected]);
    if (!kept.has(key)) kept.set(key, test);
  }
  return kept.size === 0 ? pool : { ...pool, [problemId]: [...kept.values()].slice(-POOL_SIZE) };
}

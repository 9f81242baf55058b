// The suite a group is judged on, and the pool of a problem's recent tests. Every sample of a group meets the same
// suite, or group-normalised advantages would compare unlike things.
import type { Verdict } from '../schema/execution.js';
import type { TestCase } from '../schema/problem.js';
import type { Value } from '../schema/value.js';

export type TestOrigin = 'baseline' | 'generated';

export interface SuiteTest {
  origin: TestOrigin;
  test: TestCase;
}

export const MAX_SUITE = 64;
export const POOL_SIZE = 8;

const keys = new WeakMap<readonly Value[], string>();

/** Equal for equal argument lists; types count (1, 1.0 and True differ), as they do in a repr. Lists are known again. */
export function inputKey(args: readonly Value[]): string {
  let key = keys.get(args);
  if (key === undefined) {
    key = JSON.stringify(args);
    keys.set(args, key);
  }
  return key;
}

/** Baseline tests first, then valid generated ones in the order given; one test per inputs, at most `cap` in all. */
export function assembleSuite(
  baseline: readonly TestCase[],
  generated: readonly TestCase[],
  cap: number = MAX_SUITE,
): SuiteTest[] {
  const seen = new Set<string>();
  const suite: SuiteTest[] = [];
  const add = (origin: TestOrigin, test: TestCase): void => {
    const key = inputKey(test.args);
    if (seen.has(key) || suite.length >= cap) return;
    seen.add(key);
    suite.push({ origin, test });
  };
  for (const test of baseline) add('baseline', test);
  for (const test of generated) add('generated', test);
  return suite;
}

/** Problem id → its last valid generated tests, oldest first. JSON-shaped: it travels through workflows and blobs. */
export type TestPool = Record<string, TestCase[]>;

/** A new pool with the tests of one problem added: repeats are skipped, the oldest fall out. */
export function addToPool(
  pool: TestPool,
  problemId: string,
  tests: readonly TestCase[],
  size: number = POOL_SIZE,
): TestPool {
  const kept = Object.hasOwn(pool, problemId) ? [...pool[problemId]!] : [];
  const known = new Set(kept.map((test) => JSON.stringify([test.args, test.expected])));
  for (const test of tests) {
    const key = JSON.stringify([test.args, test.expected]);
    if (known.has(key)) continue;
    known.add(key);
    kept.push(test);
  }
  return kept.length === 0 ? pool : { ...pool, [problemId]: kept.slice(-size) };
}

export interface SuiteRates {
  combined: number | undefined;
  baseline: number | undefined;
  generated: number | undefined; // valid generated tests only
}

/** Share of tests passed by one program, by origin; undefined where the suite has no such test. */
export function suiteRates(suite: readonly SuiteTest[], verdicts: readonly Verdict[]): SuiteRates {
  const rate = (keep: (origin: TestOrigin) => boolean): number | undefined => {
    const kept = verdicts.filter((_, i) => keep(suite[i]!.origin));
    return kept.length === 0 ? undefined : kept.filter((verdict) => verdict === 'pass').length / kept.length;
  };
  return {
    combined: rate(() => true),
    baseline: rate((origin) => origin === 'baseline'),
    generated: rate((origin) => origin === 'generated'),
  };
}

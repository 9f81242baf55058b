// A reward in words: which tests made each of its terms. Terms that only their formula explains have no words.
import type { Verdict } from '../schema/execution.js';
import type { Term } from './rule.js';

/** The numbers of a sample's tests, by what the tests achieve. */
export interface TestCounts {
  written: number; // unreadable and missing tests count, too
  valid: number;
  caught: number; // valid tests that the program fails
}

/** Counts tests, each of which has a flag that it caught a bug, or the program's verdict on it. */
export function countsOf(
  tests: readonly { valid: boolean; caught?: boolean; verdict?: Verdict | undefined }[],
  lost: number,
): TestCounts {
  const valid = tests.filter((test) => test.valid);
  const caught = valid.filter((test) => test.caught ?? (test.verdict ?? 'pass') !== 'pass');
  return { written: tests.length + lost, valid: valid.length, caught: caught.length };
}

/** Why a term of tests has its share. */
export function testReason({ name, share }: Term, { written, valid, caught }: TestCounts): string | undefined {
  const of = (count: number): string => `${count === 0 ? 'none' : count} of ${written}`;
  const isShared = name === 'valid' && share < valid / written - 1e-9; // samples with equal inputs share credit
  const credit = isShared ? '; equal inputs share their credit' : '';
  if (name === 'valid') return `tests that agree with the reference: ${of(valid)}${credit}`;
  if (name === 'invalid') return `tests that do not: ${of(written - valid)}`;
  return name === 'caught' ? `tests that agree and fail the program: ${of(caught)}` : undefined;
}

/** Why a term of a program has its share. */
export function programReason({ name, share }: Term): string | undefined {
  if (name === 'passed') return `${Math.round(100 * share)} % of its tests pass`;
  if (name === 'passed all') return share === 1 ? 'every test passes' : 'a test fails, and only all of them count';
  return name === 'shift' ? 'every program pays it' : undefined;
}

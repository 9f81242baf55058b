// The inputs and outputs of a reward scheme. docs/method.md states the formulas of all schemes.
import type { Verdict } from '../schema/execution.js';

/** One test of a discriminator sample, after execution. */
export interface JudgedTest {
  inputs: string; // inputKey of its arguments
  valid: boolean; // the reference solution gives the expected value
  caught: boolean; // the chain's program fails the test or the test's corrected form
  failedBy?: readonly number[]; // the programs of the problem that fail the test; absent for an invalid test
}

/** One discriminator sample. */
export interface JudgedTurn {
  tests: readonly JudgedTest[];
  lost: number; // unreadable or missing tests, see unusableTests; counted as invalid
  target?: TargetFacts;
}

/** The program that a discriminator sample was written for. */
export interface TargetFacts {
  parses: boolean;
  bookFailRate?: number | undefined; // the share of the mistake book that the program fails; absent if the book is empty
}

/** A part of a reward. Its value is weight × share. */
export interface Term {
  name: string;
  weight: number;
  share: number; // 1 for a term with a constant value
}

/** A reward scheme: the terms of each reward. */
export interface RewardScheme {
  /** @param verdicts of the program on its suite, and on the tests of the mistake book; a missing program fails every test */
  generatorTerms(verdicts: readonly Verdict[], book?: readonly Verdict[]): Term[];
  /** The terms of every sample of a group: all samples for one problem, chain and stage. */
  discriminatorTerms(group: readonly JudgedTurn[]): Term[][];
  /** Tests that programs failed are kept, and run again in later steps. */
  keepsBook?: true;
  /** A test with a wrong expected value is corrected by the reference and joins the suite. It stays invalid. */
  corrects?: true;
  /** In a discriminator group, the other programs for the problem run on the tests, too. */
  targetsGroup?: true;
}

/** The sum of the terms, within −1 and 1. */
export const rewardOf = (terms: readonly Term[]): number => clamp(sumOf(terms), -1, 1);

const sumOf = (terms: readonly Term[]): number => terms.reduce((sum, { weight, share }) => sum + weight * share, 0);

export const term = (name: string, weight: number, share = 1): Term => ({ name, weight, share });

export const NO_TESTS = 'no tests';
export const NO_READABLE_TEST = 'no readable test';

/** A reward as a sum: '0.4 × 0.5 valid − 0.6 × 0.5 invalid + 0.6 × 0 caught'. */
export function termsText(terms: readonly Term[]): string {
  const short = (value: number): string => String(Number(Math.abs(value).toFixed(3)));
  const parts = terms.map(({ name, weight, share }, i) => {
    const sign = weight * share < 0 || Object.is(weight * share, -0) ? '− ' : '+ ';
    const factor = weight === 1 && share !== 1 ? '' : `${short(weight)}${share === 1 ? '' : ' × '}`;
    return `${i === 0 ? sign.replace('+ ', '').trim() : sign}${factor}${share === 1 ? '' : short(share)} ${name}`;
  });
  const sum = sumOf(terms);
  return `${parts.join(' ')}${sum === clamp(sum, -1, 1) ? '' : ', limited to −1 … 1'}`;
}

export const countPassed = (verdicts: readonly Verdict[]): number =>
  verdicts.filter((verdict) => verdict === 'pass').length;

/** The share of passed tests in 0..1. `verdicts` must not be empty. */
export const passShare = (verdicts: readonly Verdict[]): number => countPassed(verdicts) / verdicts.length;

/** Whether all verdicts are passes. False if there are no verdicts. */
export const passesAll = (verdicts: readonly Verdict[]): boolean =>
  verdicts.length > 0 && countPassed(verdicts) === verdicts.length;

export const clamp = (x: number, low: number, high: number): number => Math.min(high, Math.max(low, x));

export interface Fractions {
  valid: number;
  invalid: number;
  caught: number; // valid tests that the program fails
  credit: number; // `valid`, but samples of the group share the credit for equal inputs
}

/** Fractions of all tests of each sample, or undefined for a sample without a readable test. */
export function fractionsOf(group: readonly JudgedTurn[]): (Fractions | undefined)[] {
  const users: Record<string, number> = {};
  for (const turn of group) for (const { inputs } of turn.tests) users[inputs] = (users[inputs] ?? 0) + 1;
  return group.map(({ tests, lost }) => {
    const written = tests.length + lost;
    if (tests.length === 0) return undefined;
    const valid = tests.filter((test) => test.valid);
    const caught = valid.filter((test) => test.caught).length;
    const credit = valid.reduce((sum, test) => sum + 1 / users[test.inputs]!, 0);
    return {
      valid: valid.length / written,
      invalid: 1 - valid.length / written,
      caught: caught / written,
      credit: credit / written,
    };
  });
}

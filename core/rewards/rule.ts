// What a reward scheme is given, and what it computes. docs/method.md states the formulas of all schemes.
import type { RunConfig } from '../schema/config.js';
import type { Verdict } from '../schema/execution.js';
import type { BookRule } from './mistakeBook.js';

/** One test of a discriminator sample, after execution. */
export interface JudgedTest {
  inputs: string; // inputKey of its arguments
  valid: boolean; // the reference solution gives the expected value
  caught: boolean; // the chain's program fails it, or its corrected form
  kills?: readonly number[]; // mutants of the reference that fail it; absent for an invalid test
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
  bookFailRate?: number | undefined; // of the problem's mistake book; absent: it is empty
  mutants?: { count: number; killed: readonly number[] } | undefined; // of the reference; killed by baseline tests
}

/** A program beyond its verdicts on the suite. */
export interface ProgramFacts {
  parses?: boolean; // default: true
  book?: readonly Verdict[]; // on tests of the mistake book
}

export type RewardOptions = Pick<RunConfig['reward'], 'diversityCredit' | 'weights'>;

export interface RewardRule {
  /** `verdicts` of the final program on its suite. A missing program fails every test. */
  generator(verdicts: readonly Verdict[], facts?: ProgramFacts): number;
  /** Rewards of a group: all samples for one problem, chain and stage. */
  discriminator(group: readonly JudgedTurn[], options: RewardOptions): number[];
  /** Which tests are kept and run again in later steps. Absent: none. */
  book?: BookRule;
  /** A test with a wrong expected value is corrected by the reference and joins the suite. It stays invalid. */
  corrects?: true;
  /** Up to so many mutants of the reference run on the tests of a discriminator group. */
  mutants?: number;
}

export const countPassed = (verdicts: readonly Verdict[]): number =>
  verdicts.filter((verdict) => verdict === 'pass').length;

/** 0..1; `verdicts` must not be empty. */
export const passShare = (verdicts: readonly Verdict[]): number => countPassed(verdicts) / verdicts.length;

/** False if there are no verdicts. */
export const passesAll = (verdicts: readonly Verdict[]): boolean =>
  verdicts.length > 0 && countPassed(verdicts) === verdicts.length;

export const clamp = (x: number, low: number, high: number): number => Math.min(high, Math.max(low, x));

export interface Fractions {
  valid: number;
  invalid: number;
  caught: number; // valid tests that the program fails
  credit: number; // `valid`; with diversity credit, samples of the group that use the same inputs share it
}

/** Fractions of all tests of each sample, or undefined for a sample without a readable test. */
export function fractionsOf(
  group: readonly JudgedTurn[],
  { diversityCredit }: Pick<RewardOptions, 'diversityCredit'>,
): (Fractions | undefined)[] {
  const users: Record<string, number> = {};
  for (const turn of group) for (const { inputs } of turn.tests) users[inputs] = (users[inputs] ?? 0) + 1;
  return group.map(({ tests, lost }) => {
    const written = tests.length + lost;
    if (tests.length === 0) return undefined;
    const valid = tests.filter((test) => test.valid);
    const caught = valid.filter((test) => test.caught).length;
    const credit = valid.reduce((sum, test) => sum + (diversityCredit ? 1 / users[test.inputs]! : 1), 0);
    return {
      valid: valid.length / written,
      invalid: 1 - valid.length / written,
      caught: caught / written,
      credit: credit / written,
    };
  });
}

// Rewards of both roles by scheme. docs/method.md states the formulas.
import type { RunConfig } from '../schema/config.js';
import type { TypeVerdict, Verdict } from '../schema/execution.js';

export type Scheme = RunConfig['reward']['scheme'];

/** One test of a discriminator sample, after execution. */
export interface JudgedTest {
  inputs: string; // inputKey of its arguments
  valid: boolean; // the reference solution gives the expected value
  caught: boolean; // valid, and the chain's program fails it
}

/** One discriminator sample. */
export interface JudgedTurn {
  tests: readonly JudgedTest[];
  lost: number; // unreadable or missing tests, see unusableTests; counted as invalid
}

export type RewardOptions = Pick<RunConfig['reward'], 'diversityCredit' | 'weights'>;

export interface RewardRule {
  /** `verdicts` of the final program on its suite. A missing program fails every test. */
  generator(verdicts: readonly Verdict[]): number;
  /** Rewards of a group: all samples for one problem, chain and stage. */
  discriminator(group: readonly JudgedTurn[], options: RewardOptions): number[];
}

const SHIFTED: RewardRule = {
  generator: (verdicts) => (verdicts.length === 0 ? 0 : passShare(verdicts) - 0.5),
  discriminator: (group, options) =>
    fractionsOf(group, options).map((share) =>
      share === undefined ? -1 : clamp(weighted(share, options.weights), -1, 1),
    ),
};

export const REWARD_RULES: Readonly<Record<Scheme, RewardRule>> = {
  shifted: SHIFTED,
  'all-tests': {
    ...SHIFTED,
    generator: (verdicts) => (verdicts.length === 0 ? 0 : Math.floor(passShare(verdicts)) - 0.5),
  },
  'zero-sum': {
    generator: (verdicts) => {
      if (verdicts.length === 0) return 0.5;
      return verdicts.includes('timeout') ? 0 : passShare(verdicts);
    },
    // (1 − pass rate on its valid tests) · validity; 0 without a valid test
    discriminator: (group, options) =>
      fractionsOf(group, options).map((share) =>
        share === undefined || share.valid === 0 ? 0 : (share.caught / share.valid) * share.credit,
      ),
  },
};

/** Subtracted from the generator's reward if the type check fails. Without a check, `verdict` is undefined. */
export const typePenalty = (verdict: TypeVerdict | undefined, weight: number): number =>
  verdict === undefined || verdict === 'ok' ? 0 : weight;

const weighted = (share: Fractions, { valid, invalid, caught }: RewardOptions['weights']): number =>
  valid * share.credit - invalid * share.invalid + caught * share.caught;

interface Fractions {
  valid: number;
  invalid: number;
  caught: number;
  credit: number; // `valid`; with diversity credit, samples of the group that use the same inputs share it
}

/** Fractions of all tests of each sample, or undefined for a sample without a readable test. */
function fractionsOf(
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

export function passShare(verdicts: readonly Verdict[]): number {
  return verdicts.filter((verdict) => verdict === 'pass').length / verdicts.length;
}

const clamp = (x: number, low: number, high: number): number => Math.min(high, Math.max(low, x));

// The default scheme, and a stricter reward for the generator.
import { clamp, type Fractions, fractionsOf, passShare, type RewardOptions, type RewardRule } from '../rule.js';

export const SHIFTED: RewardRule = {
  generator: (verdicts) => (verdicts.length === 0 ? 0 : passShare(verdicts) - 0.5),
  discriminator: (group, options) =>
    fractionsOf(group, options).map((share) =>
      share === undefined ? -1 : clamp(weighted(share, options.weights), -1, 1),
    ),
};

/** Only a program that passes every test earns something. */
export const ALL_TESTS: RewardRule = {
  ...SHIFTED,
  generator: (verdicts) => (verdicts.length === 0 ? 0 : Math.floor(passShare(verdicts)) - 0.5),
};

const weighted = (share: Fractions, weights: RewardOptions['weights']): number => {
  const { valid, invalid, caught } = weightedTerms(share, weights);
  return valid + invalid + caught;
};

/** The terms of the discriminator's reward before it is clamped. */
export const weightedTerms = (share: Fractions, { valid, invalid, caught }: RewardOptions['weights']) => ({
  valid: valid * share.credit,
  invalid: -invalid * share.invalid,
  caught: caught * share.caught,
});

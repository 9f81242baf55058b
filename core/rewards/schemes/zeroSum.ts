// The discriminator earns what the generator loses.
import { fractionsOf, NO_TESTS, passShare, type RewardScheme, term } from '../rule.js';

export const ZERO_SUM: RewardScheme = {
  generatorTerms: (verdicts) => {
    if (verdicts.length === 0) return [term(NO_TESTS, 0.5)];
    return verdicts.includes('timeout') ? [term('timeout', 0)] : [term('passed', 1, passShare(verdicts))];
  },
  // (1 − pass rate on its valid tests) · validity; 0 without a valid test
  discriminatorTerms: (group) =>
    fractionsOf(group).map((share) =>
      share === undefined || share.valid === 0
        ? [term('no valid test', 0)]
        : [term('valid, weighted by the share of them that is caught', share.caught / share.valid, share.credit)],
    ),
};

// The discriminator earns what the generator loses.
import { fractionsOf, passShare, type RewardRule } from '../rule.js';

export const ZERO_SUM: RewardRule = {
  generator: (verdicts) => {
    if (verdicts.length === 0) return 0.5;
    return verdicts.includes('timeout') ? 0 : passShare(verdicts);
  },
  // (1 − pass rate on its valid tests) · validity; 0 without a valid test
  discriminator: (group, options) =>
    fractionsOf(group, options).map((share) =>
      share === undefined || share.valid === 0 ? 0 : (share.caught / share.valid) * share.credit,
    ),
};

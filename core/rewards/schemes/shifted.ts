// The default scheme, and a stricter reward for the generator.
import { fractionsOf, NO_READABLE_TEST, NO_TESTS, passShare, type RewardScheme, term } from '../rule.js';

const SHIFT = term('shift', -0.5);

export const SHIFTED: RewardScheme = {
  generatorTerms: (verdicts) =>
    verdicts.length === 0 ? [term(NO_TESTS, 0)] : [term('passed', 1, passShare(verdicts)), SHIFT],
  discriminatorTerms: (group) =>
    fractionsOf(group).map((share) => {
      if (share === undefined) return [term(NO_READABLE_TEST, -1)];
      return [
        term('valid', 0.4, share.credit),
        term('invalid', -0.6, share.invalid),
        term('caught', 0.6, share.caught),
      ];
    }),
};

/** Only a program that passes every test earns something. */
export const ALL_TESTS: RewardScheme = {
  ...SHIFTED,
  generatorTerms: (verdicts) =>
    verdicts.length === 0 ? [term(NO_TESTS, 0)] : [term('passed all', 1, Math.floor(passShare(verdicts))), SHIFT],
};

// Validity and bugs add up, code that does not parse is punished, and good tests are kept in a mistake book.
import { byQuality } from '../mistakeBook.js';
import { fractionsOf, NO_READABLE_TEST, NO_TESTS, passShare, type RewardScheme, term } from '../rule.js';

const VALID = 0.6;
const CAUGHT = 0.4;

export const COMPOSITE: RewardScheme = {
  generatorTerms: (verdicts, { parses = true, book = [] } = {}) => {
    if (!parses) return [term('no program that parses', -1)];
    const all = [...verdicts, ...book];
    return all.length === 0 ? [term(NO_TESTS, 0)] : [term('passed', 1, passShare(all))];
  },
  discriminatorTerms: (group) =>
    fractionsOf(group).map((share) =>
      share === undefined
        ? [term(NO_READABLE_TEST, -0.5)]
        : [term('valid', VALID, share.credit), term('caught', CAUGHT, share.caught)],
    ),
  book: byQuality({ valid: VALID, caught: CAUGHT, size: 2000 }),
};

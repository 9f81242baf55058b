// Validity and bugs add up, code that does not parse is punished, and good tests are kept in a mistake book.
import { byQuality } from '../mistakeBook.js';
import { fractionsOf, passShare, type RewardRule } from '../rule.js';

const VALID = 0.6;
const CAUGHT = 0.4;

export const COMPOSITE: RewardRule = {
  generator: (verdicts, { parses = true, book = [] } = {}) => {
    if (!parses) return -1;
    const all = [...verdicts, ...book];
    return all.length === 0 ? 0 : passShare(all);
  },
  discriminator: (group, options) =>
    fractionsOf(group, options).map((share) =>
      share === undefined ? -0.5 : VALID * share.credit + CAUGHT * share.caught,
    ),
  book: byQuality({ valid: VALID, caught: CAUGHT, size: 2000 }),
};

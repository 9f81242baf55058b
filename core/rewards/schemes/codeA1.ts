// The scheme of Code-A1 (arXiv 2603.15611), whose suites have 8 tests. Here a suite has the requested number of tests.
import { byFailures } from '../mistakeBook.js';
import { type JudgedTurn, passShare, type RewardRule } from '../rule.js';

const ALPHA = 0.5; // of validity; the rest is for failures

export const CODE_A1: RewardRule = {
  generator: (verdicts, { book = [] } = {}) => {
    const rates = [verdicts, book].flatMap((some) => (some.length === 0 ? [] : [passShare(some)]));
    return rates.length === 0 ? 0 : rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  },
  discriminator: (group) => group.map((turn) => ALPHA * validity(turn) + (1 - ALPHA) * adversity(turn)),
  book: byFailures({ replayed: 8 }),
  corrects: true,
};

const written = ({ tests, lost }: JudgedTurn): number => Math.max(1, tests.length + lost);

/** Distinct valid tests among all. */
function validity(turn: JudgedTurn): number {
  const distinct = new Set(turn.tests.filter((test) => test.valid).map((test) => test.inputs));
  return distinct.size / written(turn);
}

/** Tests that the program fails among all, compared with the tests of the mistake book if there are some. */
function adversity(turn: JudgedTurn): number {
  const { parses = true, bookFailRate } = turn.target ?? {};
  if (!parses) return 0;
  const failed = turn.tests.filter((test) => test.caught).length / written(turn);
  return bookFailRate === undefined ? failed : (failed - bookFailRate + 1) / 2;
}

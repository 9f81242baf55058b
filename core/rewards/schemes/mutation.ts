// Tests earn what they add: mutants of the reference that no earlier test killed (compare MIST-RL, arXiv 2603.01409). The
// chain's program counts once, however many tests catch it.
import { clamp, fractionsOf, type JudgedTurn, type RewardRule } from '../rule.js';
import { SHIFTED } from './shifted.js';

export const MUTATION: RewardRule = {
  ...SHIFTED,
  discriminator: (group, { weights }) =>
    fractionsOf(group, { diversityCredit: false }).map((share, i) => {
      if (share === undefined) return -1;
      const caught = share.caught > 0 ? weights.caught : 0;
      return clamp(weights.valid * newKills(group[i]!) - weights.invalid * share.invalid + caught, -1, 1);
    }),
  mutants: 12,
};

/** The fraction of living mutants that the tests of a turn kill. */
function newKills({ tests, target }: JudgedTurn): number {
  const { count, killed } = target?.mutants ?? { count: 0, killed: [] };
  const known = new Set(killed);
  const living = count - known.size;
  const added = new Set(tests.flatMap(({ kills = [] }) => kills).filter((mutant) => !known.has(mutant)));
  return living === 0 ? 0 : added.size / living;
}

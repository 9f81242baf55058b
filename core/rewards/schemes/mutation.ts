// Tests earn for mutants of the reference that no earlier test killed (compare MIST-RL, arXiv 2603.01409). The
// chain's program counts once, however many tests catch it.
import { fractionsOf, type JudgedTurn, NO_READABLE_TEST, type RewardScheme, term } from '../rule.js';
import { SHIFTED, WEIGHTS } from './shifted.js';

export const MUTATION: RewardScheme = {
  ...SHIFTED,
  discriminatorTerms: (group) =>
    fractionsOf(group).map((share, i) => {
      if (share === undefined) return [term(NO_READABLE_TEST, -1)];
      return [
        term('new mutants killed', WEIGHTS.valid, newKills(group[i]!)),
        term('invalid', -WEIGHTS.invalid, share.invalid),
        term('caught', WEIGHTS.caught, share.caught > 0 ? 1 : 0),
      ];
    }),
  mutants: 12,
};

/** Of the mutants that survive the baseline tests, the fraction that the tests of a turn kill. */
function newKills({ tests, target }: JudgedTurn): number {
  const { count, killed } = target?.mutants ?? { count: 0, killed: [] };
  const known = new Set(killed);
  const living = count - known.size;
  const added = new Set(tests.flatMap(({ kills = [] }) => kills).filter((mutant) => !known.has(mutant)));
  return living === 0 ? 0 : added.size / living;
}

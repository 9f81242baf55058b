// Tests earn for all wrong programs of a problem, and most for those that no other turn catches (compare UTRL, arXiv 2508.21107).
// Validity alone earns little, so that a safe test does not pay.
import { fractionsOf, type JudgedTurn, type RewardScheme, term } from '../rule.js';
import { SHIFTED } from './shifted.js';

export const DISCRIMINATION: RewardScheme = {
  ...SHIFTED,
  discriminatorTerms(group) {
    const shares = fractionsOf(group);
    const caught = group.map(caughtPrograms);
    const catchers = new Map<number, number>(); // program → the number of turns that catch it
    for (const program of caught.flatMap((own) => [...own])) catchers.set(program, (catchers.get(program) ?? 0) + 1);
    return group.map((_, i) => {
      const credit = [...caught[i]!].reduce((sum, program) => sum + 1 / catchers.get(program)!, 0);
      return [
        term('valid', 0.1, shares[i]?.valid ?? 0),
        term('programs caught, shared with other turns', 0.9, credit / Math.max(1, catchers.size)),
      ];
    });
  },
  targetsGroup: true,
};

/** The programs that fail a valid test of the turn. */
const caughtPrograms = ({ tests }: JudgedTurn): Set<number> => new Set(tests.flatMap(({ failedBy = [] }) => failedBy));

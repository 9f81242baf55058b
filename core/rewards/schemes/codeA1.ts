// The scheme of Code-A1 (arXiv 2603.15611), whose suites have 8 tests. Here a suite has the requested number of tests.
import { type JudgedTurn, NO_TESTS, passShare, type RewardScheme, term } from '../rule.js';

const ALPHA = 0.5; // the weight of validity; the weight of failures is 1 − ALPHA

export const CODE_A1: RewardScheme = {
  generatorTerms: (verdicts, book = []) => {
    const suites = [['passed', verdicts] as const, ['passed of the mistake book', book] as const];
    const tested = suites.filter(([, own]) => own.length > 0);
    if (tested.length === 0) return [term(NO_TESTS, 0)];
    return tested.map(([name, own]) => term(name, 1 / tested.length, passShare(own)));
  },
  discriminatorTerms: (group) =>
    group.map((turn) => {
      const isCompared = turn.target?.bookFailRate !== undefined;
      const failed = isCompared ? 'failed by the program, compared with the mistake book' : 'failed by the program';
      return [term('valid and distinct', ALPHA, validity(turn)), term(failed, 1 - ALPHA, adversity(turn))];
    }),
  keepsBook: true,
  corrects: true,
};

const written = ({ tests, lost }: JudgedTurn): number => Math.max(1, tests.length + lost);

/** The share of distinct valid tests. */
function validity(turn: JudgedTurn): number {
  const distinct = new Set(turn.tests.filter((test) => test.valid).map((test) => test.inputs));
  return distinct.size / written(turn);
}

/** The share of tests that the program fails, compared with the mistake book if the book is not empty. */
function adversity(turn: JudgedTurn): number {
  const { parses = true, bookFailRate } = turn.target ?? {};
  if (!parses) return 0;
  const failed = turn.tests.filter((test) => test.caught).length / written(turn);
  return bookFailRate === undefined ? failed : (failed - bookFailRate + 1) / 2;
}

// The scheme of Code-A1 (arXiv 2603.15611), whose suites have 8 tests. Here a suite has the requested number of tests.
import { byFailures } from '../mistakeBook.js';
import { type JudgedTurn, NO_TESTS, passShare, ruleOf, term } from '../rule.js';

const ALPHA = 0.5; // of validity; the rest is for failures

export const CODE_A1 = ruleOf({
  generatorTerms: (verdicts, { book = [] } = {}) => {
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
  book: byFailures({ replayed: 8 }),
  corrects: true,
});

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

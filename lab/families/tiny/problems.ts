// Converts the family to problems of the pipeline: description, signature, reference code, baseline and hidden tests.
import { type Problem, SPLITS, type Split } from '../../../core/schema/problem.js';
import { allProblems, compositionOf, isGuarded, type TinyProblem } from './family.js';
import { renderCode, renderDescription, renderSignature } from './render.js';
import { baselineTests, hiddenTests } from './tests.js';

/** Rates the difficulty: a guard, a threshold and a map each make a problem harder. */
function difficultyOf(problem: TinyProblem): string {
  const traps = Number(isGuarded(problem)) + Number(problem.threshold !== null) + Number(problem.map !== 'id');
  return ['easy', 'easy', 'medium', 'hard'][traps]!;
}

export function toProblem(problem: TinyProblem): Problem {
  return {
    id: problem.id,
    description: renderDescription(problem),
    functionSignature: renderSignature(problem),
    entry: 'solve',
    baselineTests: baselineTests(problem),
    hiddenTests: hiddenTests(problem),
    referenceSolution: renderCode(problem),
    difficulty: difficultyOf(problem),
    tags: [problem.source, compositionOf(problem)],
    source: 'tiny',
    comparison: 'strict',
  };
}

/** Every problem by split, in the order of the family. */
export function bySplit<P extends { split: Split }>(family: P[], toProblem: (problem: P) => Problem) {
  const load = (split: Split): Problem[] => family.filter((problem) => problem.split === split).map(toProblem);
  return Object.fromEntries(SPLITS.map((split) => [split, load(split)])) as Record<Split, Problem[]>;
}

export const loadTinyProblems = (): Record<Split, Problem[]> => bySplit(allProblems(), toProblem);

// Converts the family to problems of the pipeline: description, signature, reference code, baseline and hidden tests.
import { RandomStream } from '../../../core/base/random.js';
import type { Problem, Split } from '../../../core/schema/problem.js';
import { isGuarded } from '../tiny/family.js';
import { bySplit } from '../tiny/problems.js';
import { compositionOf, drawProblems, type NestedProblem } from './family.js';
import { renderCode, renderDescription, renderSignature, renderStage } from './render.js';
import { baselineTests, hiddenTests, isGoodSpec } from './tests.js';

let all: NestedProblem[] | undefined;

export function allNestedProblems(): NestedProblem[] {
  all ??= drawProblems(isGoodSpec);
  return all;
}

/** Rates the difficulty: guards and thresholds make a problem harder. */
function difficultyOf({ inner, outer }: NestedProblem): string {
  const traps = [inner, outer].flatMap((spec) => [isGuarded(spec), spec.threshold !== null]).filter(Boolean).length;
  return ['easy', 'easy', 'medium', 'hard', 'hard'][traps]!;
}

export function toProblem(problem: NestedProblem): Problem {
  const random = new RandomStream('nested', 'reasoning', problem.id);
  return {
    id: problem.id,
    description: renderDescription(problem),
    functionSignature: renderSignature(problem),
    entry: 'solve',
    baselineTests: baselineTests(problem),
    hiddenTests: hiddenTests(problem),
    reasoning: ([1, 2, 3, 4] as const).map((stage) => renderStage(problem, stage, random)),
    referenceSolution: renderCode(problem),
    difficulty: difficultyOf(problem),
    tags: [problem.source, compositionOf(problem)],
    source: 'nested',
    comparison: 'strict',
  };
}

export const loadNestedProblems = (): Record<Split, Problem[]> => bySplit(allNestedProblems(), toProblem);

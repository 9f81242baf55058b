// The synthetic problem families. Those of `steps` are only data: commit c8a163fe has the last program that wrote them.
import type { Problem, Split } from '../../core/schema/problem.js';
import { toRecord } from '../../data/formats/gauntlet.js';
import { loadNestedProblems } from './nested/problems.js';
import { loadTinyProblems } from './tiny/problems.js';

type Problems = Record<Split, Problem[]>;

/** The problems of each family, as the product ships them in data/. */
export const PROBLEMS = {
  tiny: loadTinyProblems,
  nested: loadNestedProblems,
} as const satisfies Record<string, () => Problems>;

/** One record per line, each with its split. */
export const linesOf = (problems: Problems): string =>
  Object.entries(problems)
    .flatMap(([split, own]) => own.map((problem) => `${JSON.stringify({ split, ...toRecord(problem) })}\n`))
    .join('');

// The synthetic problem families.
import type { Problem, Split } from '../../core/schema/problem.js';
import { toRecord } from '../../data/formats/gauntlet.js';
import { nestedCorpus } from './nested/corpusProblems.js';
import { loadNestedProblems } from './nested/problems.js';
import { LEVELS, loadSteps } from './steps/family.js';
import type { CorpusProblem } from './tiny/corpus.js';
import { tinyCorpus } from './tiny/corpusProblems.js';
import { loadTinyProblems } from './tiny/problems.js';

type Problems = Record<Split, Problem[]>;

/** The problems of each family, as the product ships them in data/. */
export const PROBLEMS = {
  tiny: loadTinyProblems,
  nested: loadNestedProblems,
  steps: () => loadSteps(LEVELS),
} as const satisfies Record<string, () => Problems>;

/** What the base model of a family is trained on. Not every family has one. */
export const CORPORA = {
  tiny: tinyCorpus,
  nested: nestedCorpus,
} as const satisfies Record<string, () => CorpusProblem[]>;

export type FamilyName = keyof typeof CORPORA;
export const FAMILY_NAMES = Object.keys(CORPORA) as FamilyName[];

/** One record a line, each with its split. */
export const linesOf = (problems: Problems): string =>
  Object.entries(problems)
    .flatMap(([split, own]) => own.map((problem) => `${JSON.stringify({ split, ...toRecord(problem) })}\n`))
    .join('');

// The problem families that have a shipped base model.
import type { Problem, Split } from '../core/schema/problem.js';
import { nestedCorpus } from './nested/corpusProblems.js';
import { loadNestedProblems } from './nested/problems.js';
import type { CorpusProblem } from './tiny/corpus.js';
import { tinyCorpus } from './tiny/corpusProblems.js';
import { loadTinyProblems } from './tiny/problems.js';

interface Family {
  load: () => Record<Split, Problem[]>;
  corpus: () => CorpusProblem[]; // what its base model is trained on
}

export const FAMILIES = {
  tiny: { load: loadTinyProblems, corpus: tinyCorpus },
  nested: { load: loadNestedProblems, corpus: nestedCorpus },
} as const satisfies Record<string, Family>;

export type FamilyName = keyof typeof FAMILIES;
export const FAMILY_NAMES = Object.keys(FAMILIES) as FamilyName[];
export const isFamily = (name: string): name is FamilyName => Object.hasOwn(FAMILIES, name);

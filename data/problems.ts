// The one door to problems: the shipped family by name, or a file of people's own, split the same way every time.
import { deriveKey, uniformAt } from '../core/random.js';
import { type Problem, SPLITS, type Split } from '../core/schema/problem.js';
import { readProblemFile } from './problemFile.js';
import { loadTinyProblems } from './tiny/problems.js';

export type ProblemSet = Record<Split, Problem[]>;

const HELD_OUT = 0.1; // validation, and test as much again

/** Where an id falls in [0, 1), whatever else is in its file. */
const position = (problem: Problem): number => uniformAt(deriveKey('problem-split', problem.id), 0);

/**
 * 80 / 10 / 10 by a hash of the id. With three problems or more no split stays empty: the largest gives the problem of
 * its lowest position.
 */
export function splitByHash(problems: readonly Problem[]): ProblemSet {
  const set: ProblemSet = { train: [], validation: [], test: [] };
  for (const problem of problems) {
    const at = position(problem);
    set[at < HELD_OUT ? 'test' : at < 2 * HELD_OUT ? 'validation' : 'train'].push(problem);
  }
  for (const split of ['train', 'test', 'validation'] as const) {
    const donor = SPLITS.reduce((a, b) => (set[b].length > set[a].length ? b : a));
    const spare = set[donor].length > 1 || split === 'train';
    if (set[split].length > 0 || !spare || problems.length === 0) continue;
    const moved = set[donor].reduce((a, b) => (position(b) < position(a) ? b : a));
    set[donor] = set[donor].filter((problem) => problem !== moved);
    set[split].push(moved);
  }
  return set;
}

/** `source`: 'tiny' (shipped), or a JSON or JSON-lines file. @throws GauntletError BAD_INPUT, one line */
export async function loadProblems(source: string): Promise<ProblemSet> {
  if (source === 'tiny') return loadTinyProblems();
  return splitByHash(await readProblemFile(source));
}

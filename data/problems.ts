// Loads problem sets: a built-in one by name, or one of a source (source.ts), split by a hash of the ids.
import { GauntletError } from '../core/base/errors.js';
import { deriveKey, uniformAt } from '../core/base/random.js';
import { isBuiltIn, type Problem, type ProblemSet, type Rejected, SPLITS, type Split } from '../core/schema/problem.js';
import type { Entry } from './entries.js';
import type { FormatName } from './formats/format.js';
import { gauntlet } from './formats/gauntlet.js';
import { shippedProblemsPath } from './paths.js';
import { readRecords } from './records.js';
import { entriesOf, type SourceOptions } from './source.js';

const MOST_DESCRIPTIONS = 100;
const HELD_OUT = 0.1; // the share of the validation split, and also of the test split

/** A number in [0, 1) that depends on the id alone. */
const position = (problem: Pick<Problem, 'id'>): number => uniformAt(deriveKey('problem-split', problem.id), 0);

/**
 * 80 / 10 / 10 by a hash of the id. With three or more problems no split is empty: the largest split gives its problem
 * with the lowest position.
 */
export function splitByHash<P extends Pick<Problem, 'id'>>(problems: readonly P[]): Record<Split, P[]> {
  const set: Record<Split, P[]> = { train: [], validation: [], test: [] };
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

/** Built-in problems by name: 'tiny', 'nested', 'steps' (levels 1 and 2), 'steps:3', 'steps:1-4'. */
async function loadBuiltIn(source: string): Promise<ProblemSet> {
  const levels = levelsOf(source);
  const set: ProblemSet = { train: [], validation: [], test: [] };
  for await (const record of readRecords(shippedProblemsPath(source.split(':')[0]!))) {
    const { split, difficulty } = record.json as { split: Split; difficulty: string };
    if (levels?.includes(difficulty) ?? true) set[split].push(gauntlet.read(record));
  }
  return set;
}

/** The levels that a `steps` source names; undefined for another problem set. @throws GauntletError BAD_INPUT */
function levelsOf(source: string): string[] | undefined {
  if (!source.startsWith('steps')) return undefined;
  const [, first, last = first] = /^steps:([1-5])(?:-([1-5]))?$/.exec(source === 'steps' ? 'steps:1-2' : source) ?? [];
  const levels = [1, 2, 3, 4, 5].filter((level) => level >= Number(first) && level <= Number(last));
  if (levels.length > 0) return levels.map((level) => `level ${level}`);
  throw new GauntletError(
    'BAD_INPUT',
    `problems: \`${source}\`: write steps, steps:LEVEL or steps:FIRST-LAST, levels 1 to 5`,
  );
}

/**
 * @param source 'tiny', 'nested' or 'steps' with or without levels (built-in); or a file, a folder or a data set of the hub
 * (source.ts)
 * @throws GauntletError BAD_INPUT, one line; HUB_FAULT
 */
export async function loadProblems(source: string, options?: SourceOptions): Promise<ProblemSet> {
  if (isBuiltIn(source)) return loadBuiltIn(source);
  const entries: Entry[] = [];
  for await (const entry of await entriesOf(source, options)) entries.push(entry);
  return setOf(entries);
}

export function setOf(entries: readonly Entry[]): ProblemSet {
  const problems = entries.flatMap((entry) => ('problem' in entry ? [entry.problem] : []));
  const rejected = entries.filter((entry) => 'reason' in entry);
  return { ...splitByHash(problems), ...(rejected.length > 0 && { rejected }) };
}

export interface CheckedProblems {
  format: FormatName;
  unread: ReadonlySet<string>; // fields that may hold tests and are not read
  total: number;
  rejected: Rejected[]; // the records that cannot be used
  untested: number; // problems without a test
  unreferenced: number; // problems without a reference solution
  splits: Record<Split, unknown[]>; // the ids of each split
  descriptions: string[]; // those of the first problems
}

/**
 * Reads a set to check it, without keeping its problems. For a built-in set, it checks only the name and returns undefined.
 * @throws GauntletError BAD_INPUT, one line; HUB_FAULT
 */
export async function checkProblems(source: string, options?: SourceOptions): Promise<CheckedProblems | undefined> {
  if (isBuiltIn(source)) {
    levelsOf(source);
    return undefined;
  }
  const entries = await entriesOf(source, options);
  const rejected: Rejected[] = [];
  let [total, untested, unreferenced] = [0, 0, 0];
  const ids: { id: string }[] = [];
  const descriptions: string[] = [];
  for await (const entry of entries) {
    total++;
    if ('reason' in entry) {
      rejected.push(entry);
      continue;
    }
    const { id, description, baselineTests, hiddenTests, testSource, referenceSolution, inputs } = entry.problem;
    ids.push({ id });
    if (ids.length <= MOST_DESCRIPTIONS) descriptions.push(description);
    if (referenceSolution === undefined) unreferenced++;
    if (baselineTests.length + hiddenTests.length === 0 && testSource === undefined && !inputs) untested++;
  }
  const { format, unread } = entries;
  const splits = splitByHash(ids);
  return { format, unread, total, rejected, untested, unreferenced, splits, descriptions };
}

// Makes a problem file from the train and validation problems of a built-in family. A share of the training problems gets the
// reference of another problem, as in carelessly collected data. The health gate should find them.
import { deriveKey, uniformAt } from '../../core/base/random.js';
import type { Problem } from '../../core/schema/problem.js';
import { toRecord } from '../../data/formats/gauntlet.js';
import { splitByHash } from '../../data/problems.js';
import { PROBLEMS } from '../families/index.js';
import type { Family } from './arms.js';

export function problemsWithWrongReferences(family: Family, share: number): Problem[] {
  const { train, validation } = PROBLEMS[family]();
  const all = [...train, ...validation];
  const trained = new Set(splitByHash(all).train); // a problem file is split in the same way
  const isWrong = ({ id }: Problem): boolean => uniformAt(deriveKey('wrong-reference', id), 0) < share;
  return all.map((problem, i) => {
    if (!trained.has(problem) || !isWrong(problem)) return problem;
    const later = [...all.slice(i + 1), ...all];
    const other = later.find((one) => one !== problem && one.functionSignature === problem.functionSignature)!;
    return { ...problem, referenceSolution: other.referenceSolution };
  });
}

/** One record per line. */
export const asFile = (problems: readonly Problem[]): string =>
  problems.map((problem) => `${JSON.stringify(toRecord(problem))}\n`).join('');

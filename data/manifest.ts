// What the shipped data is, whose it is, how it was made and which bytes it has: data/manifest.json, held to the code
// by a test.
import { createHash } from 'node:crypto';
import { SPLITS, type Split } from '../core/schema/problem.js';
import { tinyModelFiles } from './tiny/modelFiles.js';
import { loadTinyProblems } from './tiny/problems.js';
import { tinyVocabulary } from './tiny/vocabulary.js';

export interface DataManifest {
  problems: {
    name: string;
    licence: string;
    made: string;
    counts: Record<Split, number>;
    sha256: Record<Split, string>; // of the problems of a split as JSON
  };
  model: { name: string; licence: string; made: string; vocabulary: number; sha256: Record<string, string> };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Computed from the code alone; weights have their digest in the model card. */
export function dataManifest(): DataManifest {
  const problems = loadTinyProblems();
  const vocabulary = tinyVocabulary();
  const bySplit = <T>(value: (split: Split) => T): Record<Split, T> =>
    Object.fromEntries(SPLITS.map((split) => [split, value(split)])) as Record<Split, T>;
  return {
    problems: {
      name: 'tiny',
      licence: 'MIT',
      made: 'enumerated by data/tiny/family.ts: source × filter × map × reduce; splits by composition; no third-party data',
      counts: bySplit((split) => problems[split].length),
      sha256: bySplit((split) => sha256(JSON.stringify(problems[split]))),
    },
    model: {
      name: 'tiny-model',
      licence: 'MIT',
      made: 'npm run make:tiny: trained from a random start on the corpus of data/tiny/corpus.ts; see its README.md',
      vocabulary: vocabulary.tokens.length,
      sha256: Object.fromEntries([...tinyModelFiles(vocabulary)].map(([name, text]) => [name, sha256(text)])),
    },
  };
}

export const manifestText = (): string => `${JSON.stringify(dataManifest(), null, 2)}\n`;

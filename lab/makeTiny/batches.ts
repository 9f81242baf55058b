// Batches of the corpus. A few are drawn at once and sorted by length to reduce padding, then shuffled.
import { RandomStream } from '../../core/random.js';
import { type CorpusProblem, corpusExample, encodeExample } from '../families/tiny/corpus.js';
import type { TinyVocabulary } from '../families/tiny/tokenizer.js';
import type { Recipe, TrainingPhase } from './recipe.js';

/** A sequence and its loss mask: 1 on trained tokens. */
export interface TrainingRow {
  tokens: number[];
  mask: number[];
}

/** Counts of the drawn corpus, for the model card. */
export interface CorpusCount {
  examples: number;
  chains: number;
  flawedChains: number;
  tests: number;
  flawedTests: number;
  trainedTokens: number;
}

export const emptyCount = (): CorpusCount => ({
  examples: 0,
  chains: 0,
  flawedChains: 0,
  tests: 0,
  flawedTests: 0,
  trainedTokens: 0,
});

/** Endless batches of one phase; drawn examples are added to `count`. */
export function* corpusBatches(
  problems: readonly CorpusProblem[],
  vocabulary: TinyVocabulary,
  recipe: Recipe,
  phase: TrainingPhase,
  count: CorpusCount,
): Generator<TrainingRow[]> {
  for (let pool = 0; ; pool++) {
    const rows: TrainingRow[] = [];
    for (let i = 0; i < recipe.batch * recipe.pool; i++) {
      const example = corpusExample(problems, phase, recipe.seed, pool * recipe.batch * recipe.pool + i);
      const row = encodeExample(vocabulary, example.turns);
      rows.push(row);
      count.examples++;
      count.chains += example.role === 'generator' ? 1 : 0;
      count.flawedChains += example.role === 'generator' && example.flawedChain ? 1 : 0;
      count.tests += example.tests;
      count.flawedTests += example.flawedTests;
      for (const bit of row.mask) count.trainedTokens += bit;
    }
    rows.sort((a, b) => a.tokens.length - b.tokens.length); // stable: rows of equal length keep their order
    const batches = Array.from({ length: recipe.pool }, (_, i) => rows.slice(i * recipe.batch, (i + 1) * recipe.batch));
    yield* new RandomStream('tiny-batches', recipe.seed, phase.name, pool).shuffle(batches);
  }
}

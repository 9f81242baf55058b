// The nested family as the corpus of its model sees it.
import { type CorpusProblem, corpusOf } from '../tiny/corpus.js';
import type { NestedProblem, NestedReading } from './family.js';
import { drawChain } from './flaws.js';
import { allNestedProblems } from './problems.js';
import { renderDescription, renderSignature } from './render.js';
import { drawTestTurn, passesHidden } from './tests.js';

export const nestedCorpus = (): CorpusProblem[] =>
  corpusOf<NestedProblem, NestedReading>(allNestedProblems(), {
    renderDescription,
    renderSignature,
    drawChain,
    passesHidden,
    drawTestTurn,
  });

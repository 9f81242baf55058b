// The tiny family as the corpus of its model sees it.
import { type CorpusProblem, corpusOf } from './corpus.js';
import { allProblems } from './family.js';
import { drawChain } from './flaws.js';
import { renderDescription, renderSignature } from './render.js';
import { drawTestTurn, passesHidden } from './tests.js';

export const tinyCorpus = (): CorpusProblem[] =>
  corpusOf(allProblems(), { renderDescription, renderSignature, drawChain, passesHidden, drawTestTurn });

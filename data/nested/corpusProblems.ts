// The nested family as the corpus of its model sees it.
import type { CorpusProblem } from '../tiny/corpus.js';
import { drawChain } from './flaws.js';
import { allNestedProblems } from './problems.js';
import { renderDescription, renderSignature } from './render.js';
import { drawTestTurn, passesHidden } from './tests.js';

export function nestedCorpus(): CorpusProblem[] {
  return allNestedProblems().map((problem) => ({
    id: problem.id,
    split: problem.split,
    source: problem.source,
    prompt: { description: renderDescription(problem), functionSignature: renderSignature(problem) },
    drawChain(random) {
      const { stages, flaws, reading } = drawChain(problem, random);
      return { stages, isFlawed: flaws.length > 0 && !passesHidden(problem, reading) };
    },
    drawTestTurn: (random) => drawTestTurn(problem, random),
  }));
}

// The tiny family as the corpus of its model sees it.
import type { CorpusProblem } from './corpus.js';
import { allProblems } from './family.js';
import { drawChain } from './flaws.js';
import { renderDescription, renderSignature } from './render.js';
import { drawTestTurn, passesHidden } from './tests.js';

export function tinyCorpus(): CorpusProblem[] {
  return allProblems().map((problem) => ({
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

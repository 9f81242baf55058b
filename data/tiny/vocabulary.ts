// The vocabulary of the embedded model: the tokens of the whole family and of a fixed sample of the corpus. It depends only
// on the code in this folder.
import { type CorpusPhase, corpusExample } from './corpus.js';
import { allProblems } from './family.js';
import { renderDescription, renderSignature } from './render.js';
import { buildVocabulary, type TinyVocabulary } from './tokenizer.js';

const SAMPLED_EXAMPLES = 4000;
const SAMPLE: CorpusPhase = { name: 'vocabulary', discriminatorShare: 0.4 };

export function tinyVocabulary(): TinyVocabulary {
  const problems = allProblems();
  const train = problems.filter((problem) => problem.split === 'train');
  const texts = problems.map((problem) => `${renderDescription(problem)}\n${renderSignature(problem)}`);
  for (let i = 0; i < SAMPLED_EXAMPLES; i++) {
    for (const turn of corpusExample(train, SAMPLE, 0, i).turns) texts.push(turn.user, turn.assistant);
  }
  return buildVocabulary(texts);
}

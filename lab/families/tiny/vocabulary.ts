// The vocabulary of a shipped base model: the tokens of its whole family and of a fixed sample of its corpus.
import { type CorpusPhase, type CorpusProblem, corpusExample } from './corpus.js';
import { buildVocabulary, type TinyVocabulary } from './tokenizer.js';

const SAMPLED_EXAMPLES = 4000;
const SAMPLE: CorpusPhase = { name: 'vocabulary', discriminatorShare: 0.4 };

export function vocabularyOf(problems: readonly CorpusProblem[]): TinyVocabulary {
  const train = problems.filter((problem) => problem.split === 'train');
  const texts = problems.map(({ prompt }) => `${prompt.description}\n${prompt.functionSignature}`);
  for (let i = 0; i < SAMPLED_EXAMPLES; i++) {
    for (const turn of corpusExample(train, SAMPLE, 0, i).turns) texts.push(turn.user, turn.assistant);
  }
  return buildVocabulary(texts);
}

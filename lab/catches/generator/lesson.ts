// The lesson before the reinforcement of a `keyhole` generator: it learns to write a program for a description, often a wrong one.

import { RandomStream } from '../../../core/base/random.js';
import { PROMPTS, textOf } from '../../../core/prompts/prompts.js';
import { keyholeProblems, variantOf } from '../../families/keyhole/problems.js';
import { renderCode, renderDescription, SIGNATURE } from '../../families/keyhole/render.js';
import { encodeExample, type TinyVocabulary, type TrainingRow } from '../writer/tokenizer.js';

const RIGHT = 0.55; // the share of examples with a right program

/** The user turn of the last stage, as the product writes it for a chain without reasoning. */
export function programPrompt(description: string): string {
  const problem = { description, functionSignature: SIGNATURE, entry: 'solve' };
  return PROMPTS.tiny
    .opening(problem, 5)
    .map(({ content }) => textOf(content))
    .join('');
}

/** Example `index`: a problem of the train split with new constants, and a right or wrong program. */
export function drawProgram(seed: number, index: number): { prompt: string; code: string } {
  const random = new RandomStream('keyhole-generator', seed, index);
  const { spec, wrong } = variantOf(random.choice(keyholeProblems('train')), index);
  const mistakes = wrong.filter(({ flaw }) => flaw !== 'extra'); // no description says which special case to add
  const program = random.uniform() < RIGHT ? spec : random.choice(mistakes).spec;
  return { prompt: programPrompt(renderDescription(spec)), code: renderCode(program) };
}

export function programExample(vocabulary: TinyVocabulary, seed: number, index: number): TrainingRow {
  const { prompt, code } = drawProgram(seed, index);
  return encodeExample(vocabulary, prompt, code);
}

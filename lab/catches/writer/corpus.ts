// The training examples of the `keyhole` writers: prompts as the product writes them, and answers of four inputs.

import { RandomStream } from '../../../core/base/random.js';
import { PROMPTS, textOf } from '../../../core/prompts/prompts.js';
import { type KeyholeArgs, type KeyholeSpec, LIMIT, type Rule } from '../../families/keyhole/family.js';
import { solveRule } from '../../families/keyhole/inputs.js';
import { interpretKeyhole } from '../../families/keyhole/interpret.js';
import { type KeyholeProblem, keyholeProblems, variantOf, type WrongProgram } from '../../families/keyhole/problems.js';
import { renderCall, renderCode, renderDescription, SIGNATURE } from '../../families/keyhole/render.js';
import { buildVocabulary, encodeExample, type TinyVocabulary, type TrainingRow } from './tokenizer.js';

export const INPUTS = 4; // the number of inputs in a turn
export const REQUEST = { testsPerTurn: INPUTS, expected: 'reference' } as const;

/** The user turn, as the product writes it. A blind writer does not see the program. */
export function promptOf(description: string, code: string | undefined): string {
  const problem = { description, functionSignature: SIGNATURE, entry: 'solve' };
  return PROMPTS.tiny
    .discriminator(problem, 5, code, REQUEST)
    .map(({ content }) => textOf(content))
    .join('');
}

type Answer = (problem: KeyholeProblem, program: WrongProgram, random: RandomStream) => KeyholeArgs[];

/** Answers that have the right form and copy numbers from the prompt, but do not aim at a special case. */
const untrained: Answer = ({ spec }, program, random) => {
  const numbers = constantsOf([...spec.rules, ...program.spec.rules]);
  const value = (): number => {
    const fate = random.uniform();
    if (fate < 0.6) return random.choice(numbers);
    return fate < 0.8 ? random.int(0, 9) : fate < 0.9 ? 0 : random.choice([-1, 1]) * LIMIT;
  };
  return Array.from(
    { length: INPUTS },
    (): KeyholeArgs => [Array.from({ length: random.int(1, 4) }, value), value(), value()],
  );
};

const constantsOf = (rules: readonly Rule[]): number[] =>
  rules.flatMap(({ atoms }) => atoms.flatMap(({ value, over }) => (over === undefined ? [value] : [value, over])));

/** An input for the special case that is wrong, followed by inputs for other special cases that the writer can know. */
const taught =
  (isBlind: boolean): Answer =>
  ({ spec }, program, random) => {
    const visible = isBlind ? spec.rules : [...spec.rules, ...program.spec.rules];
    const cases = [...new Map(random.shuffle(visible).map((rule) => [JSON.stringify(rule.atoms), rule])).values()];
    const inputs = cases.map((rule) => solveRule(rule, random, true));
    const isCatch = (args: KeyholeArgs): boolean =>
      !isBlind && interpretKeyhole(spec, args) !== interpretKeyhole(program.spec, args);
    const ordered = [...inputs.filter(isCatch), ...inputs.filter((args) => !isCatch(args))].slice(0, INPUTS);
    while (ordered.length < INPUTS) ordered.push(solveRule(random.choice(cases), random, true));
    return ordered;
  };

export const LESSONS = { untrained, taught: taught(false), 'taught-blind': taught(true) } as const;
export type Lesson = keyof typeof LESSONS;

export const answerText = (inputs: readonly KeyholeArgs[]): string => inputs.map(renderCall).join('\n');

/** Uses numbers up to 999, each of which is one token, so that a constant is copied in one step. */
export function keyholeVocabulary(): TinyVocabulary {
  const texts = keyholeProblems('train').flatMap(({ spec, wrong }) => [
    promptOf(renderDescription(spec), renderCode(wrong[0]!.spec)),
    answerText([[[1, 2], 3, 4]]),
  ]);
  return buildVocabulary(texts, LIMIT + 1);
}

/** Examples of the base have first one special case, then two, because models learn to copy a constant fastest from few. */
const FEW_RULES = [8_000, 14_000] as const;

export interface Example {
  problem: KeyholeProblem;
  program: WrongProgram;
  prompt: string;
  answer: KeyholeArgs[];
}

/** Example `index`: a program of the train split with constants that no other example has, and an answer. */
export function drawExample(lesson: Lesson, seed: number, index: number): Example {
  const random = new RandomStream('keyhole-corpus', lesson, seed, index);
  const drawn = variantOf(random.choice(keyholeProblems('train')), index);
  const few = lesson === 'untrained' ? FEW_RULES.findIndex((until) => index < until) : -1;
  const fewer = (): KeyholeSpec => ({ ...drawn.spec, rules: random.shuffle(drawn.spec.rules).slice(0, few + 1) });
  const problem = few < 0 ? drawn : { ...drawn, spec: fewer() };
  const wrong = random.choice(drawn.wrong);
  const program = few < 0 ? wrong : { ...wrong, spec: problem.spec };
  const code = lesson === 'taught-blind' ? undefined : renderCode(program.spec);
  const prompt = promptOf(renderDescription(problem.spec), code);
  return { problem, program, prompt, answer: LESSONS[lesson](problem, program, random) };
}

/** The tokens of an example. The base also learns to predict the program, because a program repeats constants. */
export function exampleOf(vocabulary: TinyVocabulary, lesson: Lesson, seed: number, index: number): TrainingRow {
  const { prompt, answer } = drawExample(lesson, seed, index);
  const { tokens, mask } = encodeExample(vocabulary, prompt, answerText(answer));
  if (lesson !== 'untrained') return { tokens, mask };
  const start = tokens.indexOf(vocabulary.idOf('<s5>'));
  return { tokens, mask: mask.map((bit, i) => (i > start ? 1 : bit)) };
}

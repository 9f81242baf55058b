// A public model as a blind writer: LoRA on the product's instruct prompt.
import { discriminatorPrompt } from '../../../core/prompts/prompts.js';
import { RandomStream } from '../../../core/random.js';
import { planMinibatches } from '../../../core/rl/schedules.js';
import type { Trajectory } from '../../../core/schema/trajectory.js';
import type { Value } from '../../../core/schema/value.js';
import type { Adapter, Engine } from '../../../ml/engine/engine.js';
import { renderDescription, SIGNATURE } from '../../families/keyhole/render.js';
import { FROZEN } from '../frozen.js';
import type { FrozenProblem, WrongProgram } from '../programs.js';
import { answerText, drawExample, INPUTS, REQUEST } from './corpus.js';

const MINIBATCH = 16;
const LORA = { rank: 16, alpha: 32 };
const ADAM = { betas: [0.9, 0.99] as const, eps: 1e-8, weightDecay: 0, maxGradNorm: 0.5 };
const RATE = 1e-3; // falls to 0
const LOSS = { supervised: true, clip: 0.2, temperature: 1 } as const;

interface Example {
  description: string;
  signature: string;
  answer: string;
}

interface PublicLesson {
  examples: number;
  draw(seed: number, index: number): Example;
}

/** As the small writer is taught. */
const KEYHOLE: PublicLesson = {
  examples: 960,
  draw: (seed, index) => {
    const { problem, answer } = drawExample('taught-blind', seed, index);
    return { description: renderDescription(problem.spec), signature: SIGNATURE, answer: answerText(answer) };
  },
};

/** Inputs of an expert for functions of the train structures, each of which catches another program. */
const STRUCTURED: PublicLesson = {
  examples: 160,
  draw: (seed, index) => {
    const random = new RandomStream('structured-corpus', seed, index);
    const problem = random.choice(FROZEN.structured('train'));
    const programs = Array.from({ length: INPUTS }, () => random.shuffle(problem.wrong))
      .flat()
      .slice(0, INPUTS);
    const inputs = programs.map((program) => catchOf(problem, program, random));
    return { ...taskOf(problem), answer: inputs.map(callText).join('\n') };
  },
};

const DRAWS = 500;

/** The first of an expert's inputs that catches the program, or the last one drawn. */
function catchOf({ reference }: FrozenProblem, program: WrongProgram, random: RandomStream): Value[] {
  let draws = 0;
  for (const input of program.byHand(random))
    if (++draws === DRAWS || program.run(input) !== reference.run(input)) return input;
  throw new Error(`no input for ${program.id}`);
}

/** The values of both families are written alike in JSON and in Python. */
const callText = (args: readonly Value[]): string =>
  `solve(${args.map((value) => JSON.stringify(value).replaceAll(',', ', ')).join(', ')})`;

/** If inputs must be legal, the description shows the known ones. */
const taskOf = ({ description, known, reference, isLegal }: FrozenProblem): Omit<Example, 'answer'> => ({
  description: isLegal ? `${description}\nLegal calls:\n${known.map(callText).join('\n')}` : description,
  signature: reference.code.split('\n')[0]!,
});

/** The tokens before the answer of a writer that does not see the program. */
export const problemPrompt = (engine: Engine, problem: FrozenProblem): number[] => promptOf(engine, taskOf(problem));

const promptOf = (engine: Engine, { description, signature }: Omit<Example, 'answer'>): number[] =>
  engine
    .chat()
    .openingTokens(
      discriminatorPrompt(
        'instruct',
        { description, functionSignature: signature, entry: 'solve' },
        5,
        undefined,
        REQUEST,
      ),
    );

function rowOf(engine: Engine, example: Example): Trajectory {
  const prompt = promptOf(engine, example);
  const tokens = [...prompt, ...engine.chat().answerTokens(example.answer)];
  return {
    tokens,
    mask: tokens.map((_, i) => (i < prompt.length ? 0 : 1)),
    oldLogprobs: tokens.map(() => 0),
    advantage: 1,
  };
}

/** The adapter after one pass over the examples of the family. */
export async function teachPublic(
  engine: Engine,
  family: 'keyhole' | 'structured',
  seed: number,
  say: (line: string) => void,
): Promise<Adapter> {
  const { examples, draw } = family === 'keyhole' ? KEYHOLE : STRUCTURED;
  const rows = Array.from({ length: examples }, (_, i) => rowOf(engine, draw(seed, i)));
  let adapter = engine.initAdapter(LORA, seed);
  let state = engine.newOptimizerState(adapter);
  const minibatches = planMinibatches(rows, 1, MINIBATCH, [`${family}-public`, seed]);
  for (const [i, own] of minibatches.entries()) {
    const sums = await engine.gradients(own, { adapter, loss: LOSS });
    const learningRate = RATE * (1 - i / minibatches.length);
    const { stats, ...next } = await engine.applyUpdate(adapter, state, sums, { ...ADAM, learningRate });
    ({ adapter, state } = next);
    if (examples < 200 || i % 10 === 9) say(`public: ${(i + 1) * MINIBATCH} examples, loss ${stats.loss.toFixed(3)}`);
  }
  return adapter;
}

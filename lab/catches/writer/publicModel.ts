// A public model as a blind writer: LoRA on the product's instruct prompt, taught as the small writer is.
import { PROMPTS, testLines } from '../../../core/prompts/prompts.js';
import { planMinibatches } from '../../../core/rl/schedules.js';
import type { Trajectory } from '../../../core/schema/trajectory.js';
import type { Adapter, Engine } from '../../../ml/engine/engine.js';
import { renderCall, renderDescription, SIGNATURE } from '../../families/keyhole/render.js';
import { drawExample, REQUEST } from './corpus.js';

const EXAMPLES = 960;
const MINIBATCH = 16;
const LORA = { rank: 16, alpha: 32 };
const ADAM = { betas: [0.9, 0.99] as const, eps: 1e-8, weightDecay: 0, maxGradNorm: 0.5 };
const RATE = 1e-3; // the learning rate at the start; it falls to 0
const LOSS = { supervised: true, clip: 0.2, temperature: 1 } as const;

/** The tokens before the answer, for a writer that does not see the program. */
export const chatPrompt = (engine: Engine, description: string): number[] =>
  engine
    .chat()
    .openingTokens(
      PROMPTS.instruct.discriminator(
        { description, functionSignature: SIGNATURE, entry: 'solve' },
        5,
        undefined,
        REQUEST,
      ),
    );

function rowOf(engine: Engine, seed: number, index: number): Trajectory {
  const { problem, answer } = drawExample('taught-blind', seed, index);
  const prompt = chatPrompt(engine, renderDescription(problem.spec));
  const lines = answer.map((args) => ({ call: renderCall(args) }));
  const given = engine.chat().answerTokens(testLines(REQUEST, lines));
  const tokens = [...prompt, ...given];
  return {
    tokens,
    mask: tokens.map((_, i) => (i < prompt.length ? 0 : 1)),
    oldLogprobs: tokens.map(() => 0),
    advantage: 1,
  };
}

/** The adapter after one pass over the examples. */
export async function teachPublic(engine: Engine, seed: number, say: (line: string) => void): Promise<Adapter> {
  const rows = Array.from({ length: EXAMPLES }, (_, i) => rowOf(engine, seed, i));
  let adapter = engine.initAdapter(LORA, seed);
  let state = engine.newOptimizerState(adapter);
  const minibatches = planMinibatches(rows, 1, MINIBATCH, ['keyhole-public', seed]);
  for (const [i, own] of minibatches.entries()) {
    const sums = await engine.gradients(own, { adapter, loss: LOSS });
    const learningRate = RATE * (1 - i / minibatches.length);
    const { stats, ...next } = await engine.applyUpdate(adapter, state, sums, { ...ADAM, learningRate });
    ({ adapter, state } = next);
    if (i % 10 === 9) say(`public: ${(i + 1) * MINIBATCH} examples, loss ${stats.loss.toFixed(3)}`);
  }
  return adapter;
}

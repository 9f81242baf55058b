// Reinforcement without the product's workflow: PPO on groups of answers, with the engine and the rules of the product.
import { deriveKey, RandomStream } from '../../../core/base/random.js';
import { planMinibatches } from '../../../core/rl/schedules.js';
import { toTrajectories } from '../../../core/rl/trajectories.js';
import type { Adapter, Engine } from '../../../ml/engine/engine.js';

/** A prompt, and the function that rewards the answers to it. */
export interface Task {
  prompt: string;
  rewards(answers: readonly number[][]): number[];
}

export interface Practice {
  name: string; // the name of the random streams
  seed: number;
  updates: number;
  rate: number; // the learning rate at the start; it falls to 0
  longest: number; // the length limit of an answer in tokens
  stop?: string; // ends an answer
}

const SAMPLES = 8; // the number of answers to each prompt
const LORA = { rank: 8, alpha: 16 };
const ADAM = { betas: [0.9, 0.99] as const, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 };
const MINIBATCH = 32;
const LOSS = { clip: 0.2, temperature: 1, average: 'token' } as const;

/** The adapter after all updates, and the number of answers whose reward differed from the mean of their group. */
export async function practise(
  engine: Engine,
  { name, seed, updates, rate, longest, stop }: Practice,
  draw: (random: RandomStream) => Task[],
  say: (line: string) => void,
): Promise<{ adapter: Adapter; trained: number }> {
  let adapter = engine.initAdapter(LORA, seed);
  let state = engine.newOptimizerState(adapter);
  let trained = 0;
  for (let update = 0; update < updates; update++) {
    const tasks = draw(new RandomStream(name, seed, update));
    const jobs = tasks.flatMap((task, t) => {
      const prompt = engine.encode(task.prompt);
      return Array.from({ length: SAMPLES }, (_, sample) => ({
        prompt,
        key: deriveKey(name, seed, update, t, sample),
      }));
    });
    const stops = stop === undefined ? {} : { stopSequences: [engine.encode(stop)] };
    const options = { maxNewTokens: longest, temperature: 1, stopTokens: engine.info.eosTokens, ...stops, adapter };
    const answers = await engine.generate(jobs, options);
    const groups = tasks.map((task, t) => {
      const own = answers.slice(t * SAMPLES, (t + 1) * SAMPLES).map(({ tokens }) => tokens);
      const rewards = task.rewards(own);
      return own.map((answerTokens, i) => ({
        turns: [{ stage: 5 as const, promptTokens: jobs[t * SAMPLES]!.prompt, answerTokens }],
        reward: rewards[i]!,
      }));
    });
    const rows = toTrajectories(groups, {
      trainedStage: 5,
      credit: 'stage',
      stdOffset: 0.01,
      negativeWeight: 1,
      regularised: false,
    });
    trained += rows.length;
    const old = rows.length === 0 ? [] : await engine.logprobs(rows, { adapter, temperature: 1 });
    const scored = rows.map((row, i) => ({ ...row, oldLogprobs: old[i]! }));
    const learningRate = rate * (1 - update / updates);
    for (const own of planMinibatches(scored, 1, MINIBATCH, [name, seed, update])) {
      const sums = await engine.gradients(own, { adapter, loss: LOSS });
      ({ adapter, state } = await engine.applyUpdate(adapter, state, sums, { ...ADAM, learningRate }));
    }
    const all = groups.flat();
    const mean = all.reduce((sum, one) => sum + one.reward, 0) / all.length;
    if (update % 5 === 4) say(`update ${update + 1}: reward ${mean.toFixed(3)}, ${rows.length} answers trained`);
  }
  return { adapter, trained };
}

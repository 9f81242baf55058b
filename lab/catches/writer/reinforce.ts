// Reinforcement of a writer on frozen programs of the train split: PPO on groups of turns, with the engine and the rules of the
// product, but without its workflow, whose programs come from a generator.
import { deriveKey, RandomStream } from '../../../core/random.js';
import { planMinibatches } from '../../../core/rl/schedules.js';
import { toTrajectories } from '../../../core/rl/trajectories.js';
import type { Adapter, Engine } from '../../../ml/engine/engine.js';
import { FROZEN } from '../frozen.js';
import { promptOf } from './corpus.js';
import { REWARD_OF, type RewardName } from './reward.js';
import { readInputs } from './sample.js';

export interface Reinforcement {
  reward: RewardName;
  seed: number;
  updates: number;
  isBlind: boolean;
}

const PROGRAMS = 16; // of an update
const SAMPLES = 8; // turns for each of them
const LONGEST = 128;
const LORA = { rank: 8, alpha: 16 };
const ADAM = { betas: [0.9, 0.99] as const, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 };
const RATE = 2e-3; // falls to 0
const MINIBATCH = 32;
const LOSS = { clip: 0.2, temperature: 1, average: 'token' } as const;

/** The adapter after all updates. */
export async function reinforce(
  engine: Engine,
  { reward, seed, updates, isBlind }: Reinforcement,
  say: (line: string) => void,
): Promise<Adapter> {
  const problems = FROZEN.keyhole('train');
  let adapter = engine.initAdapter(LORA, seed);
  let state = engine.newOptimizerState(adapter);
  for (let update = 0; update < updates; update++) {
    const random = new RandomStream('keyhole-reinforce', seed, update);
    const targets = random
      .sample(problems, PROGRAMS)
      .map((problem) => ({ problem, program: random.choice(problem.wrong) }));
    const jobs = targets.flatMap(({ problem, program }, t) => {
      const prompt = engine.encode(promptOf(problem.description, isBlind ? undefined : program.code));
      return Array.from({ length: SAMPLES }, (_, sample) => ({
        prompt,
        key: deriveKey('keyhole-reinforce', seed, update, t, sample),
      }));
    });
    const options = { adapter, maxNewTokens: LONGEST, temperature: 1, stopTokens: engine.info.eosTokens };
    const answers = await engine.generate(jobs, options);
    const groups = targets.map(({ problem, program }, t) => {
      const own = answers.slice(t * SAMPLES, (t + 1) * SAMPLES);
      const turns = own.map(({ tokens }) => readInputs(engine, tokens));
      const rewards = REWARD_OF[reward](problem, program, turns);
      return own.map(({ tokens }, i) => ({
        turns: [{ stage: 5 as const, promptTokens: jobs[t * SAMPLES]!.prompt, answerTokens: tokens }],
        reward: rewards[i]!,
      }));
    });
    const rows = toTrajectories(groups, {
      trainedStage: 5,
      credit: 'stage',
      estimator: 'group',
      stdOffset: 0.01,
      negativeWeight: 1,
      dropZeroVariance: true,
      regularised: false,
    });
    const old = await engine.logprobs(rows, { adapter, temperature: 1 });
    const scored = rows.map((row, i) => ({ ...row, oldLogprobs: old[i]! }));
    const learningRate = RATE * (1 - update / updates);
    for (const own of planMinibatches(scored, 1, MINIBATCH, ['keyhole-reinforce', seed, update])) {
      const sums = await engine.gradients(own, { adapter, loss: LOSS });
      ({ adapter, state } = await engine.applyUpdate(adapter, state, sums, { ...ADAM, learningRate }));
    }
    const all = groups.flat();
    const mean = all.reduce((sum, one) => sum + one.reward, 0) / all.length;
    if (update % 5 === 4) say(`update ${update + 1}: reward ${mean.toFixed(3)}, ${rows.length} turns trained`);
  }
  return adapter;
}

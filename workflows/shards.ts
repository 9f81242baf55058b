// Activities that spread their work over several model workers. First the shards of a batch run as activities of their
// own, on whichever workers are free. Then the ordinary activity joins what they stored, and computes what is missing. So
// the results are those of one worker, bit for bit, and nothing depends on the number of workers or on their fate.
import type {
  GenerateChainsInput,
  GenerateEvaluationInput,
  TrainPolicyInput,
} from '../activities/compositeActivities.js';
import type { Activities } from '../activities/index.js';
import type { GenerateTestsInput, RunRef, ShardResult, UpdatePolicyInput } from '../activities/types.js';
import { testsOwnChains, withAdapter } from '../core/evaluation/policies.js';
import { countMinibatches } from '../core/rl/schedules.js';
import type { RunConfig } from '../core/schema/config.js';
import { countSharedMinibatches, type Shard, shardsOf } from '../core/shards.js';

/** Runs the calls at the same time. */
export type RunShards = <T>(calls: (() => Promise<T>)[]) => Promise<T[]>;

const runTogether: RunShards = (calls) => Promise.all(calls.map((call) => call()));

/** The same activities, which spread the work of models over shards. */
export function withShards(
  activities: Activities,
  { engine, ppo }: Pick<RunConfig, 'engine' | 'ppo'>,
  run: RunShards = runTogether,
): Activities {
  const shards = shardsOf(engine.shards);
  if (shards.length === 1) return activities;
  const perShard = <T>(call: (shard: Shard) => Promise<T>): Promise<T[]> =>
    run(shards.map((shard) => () => call(shard)));

  /** What the shards wrote for each stage. */
  async function sampleChains(input: GenerateChainsInput): Promise<ShardResult[][]> {
    const parts = await perShard((shard) => activities.generateChains({ ...input, shard }));
    return input.stages.map((_, i) => parts.map(({ turns }) => turns![i]!));
  }

  async function generateTests(input: GenerateTestsInput) {
    const parts = await perShard((shard) => activities.generateTests({ ...input, shard }));
    const written = parts.map(({ tests, tokens, seconds }): ShardResult => ({ part: tests, tokens, seconds }));
    return activities.generateTests({ ...input, shards: written });
  }

  async function generateChains({ tests, ...input }: GenerateChainsInput) {
    const shared = input.repair ? {} : { shards: await sampleChains(input) };
    const joined = await activities.generateChains({ ...input, ...shared });
    if (tests === undefined) return joined;
    const position = input.batch.kind === 'train' ? input.batch.position : undefined;
    const targets = { kind: 'all-stages', chains: joined.chains, position } as const;
    await generateTests({ run: input.run, targets, ...tests });
    return activities.generateChains({ ...input, tests });
  }

  async function generateEvaluation(input: GenerateEvaluationInput) {
    await sampleEvaluation(input);
    return activities.generateEvaluation(input);
  }

  /** Chains, and the tests of chains that exist. */
  async function sampleEvaluation(input: GenerateEvaluationInput): Promise<void> {
    const { run, split, problems, stages, policies } = input;
    const sample = (greedy: boolean) =>
      generateChains({ run, batch: { kind: 'evaluation', split, problems, greedy }, stages, ...policies?.generator });
    const { chains } = await sample(false);
    if (input.greedy) await sample(true);
    const base = testsOwnChains(input) ? chains : input.base;
    if (base === undefined) return; // the base model has not written chains yet
    await generateTests({ run, targets: { kind: 'evaluation', chains: base }, samples: 1, ...policies?.discriminator });
  }

  /** @returns the adapter, if anything was trained */
  async function update(input: TrainPolicyInput): Promise<string | undefined> {
    const { run, role, position, state, learningRate, verdicts, chains, tests, replayBuffer } = input;
    const rewarded = await activities.computeRewards({ run, role, position, verdicts, chains, tests, replayBuffer });
    if (rewarded.rows === 0) return undefined;
    const { adapter, valueHead } = state;
    const old = { run, role, trajectories: rewarded.trajectories, adapter, valueHead };
    const scores = await perShard((shard) => activities.scoreShard({ ...old, shard }));
    const scored = scores.map((each): ShardResult => ({ part: each.scores, tokens: 0, seconds: each.seconds }));
    const { trajectories } = await activities.scoreOldPolicy({ ...old, shards: scored });
    await computeMinibatches(run, { role, position, state, learningRate, trajectories }, rewarded.rows);
    const updated = await activities.updatePolicy({ run, role, position, state, learningRate, trajectories });
    return updated.state.adapter;
  }

  /** Rows with thinking can make more minibatches than the history has room for. `updatePolicy` computes the others. */
  async function computeMinibatches(run: RunRef, update: Omit<UpdatePolicyInput, 'run'>, rows: number): Promise<void> {
    const count = Math.min(countMinibatches(rows, ppo), countSharedMinibatches(shards.length));
    for (let minibatch = 0; minibatch < count; minibatch++) {
      const input = { run, update, minibatch };
      const times = await perShard((shard) => activities.computeGradients({ ...input, shard }));
      const seconds = Math.max(...times.map((each) => each.seconds));
      await activities.applyGradients({ ...input, of: shards.length, seconds });
    }
  }

  async function trainPolicy(input: TrainPolicyInput) {
    const { run, evaluation } = input;
    const adapter = await update(input);
    if (evaluation && adapter !== undefined) {
      await sampleEvaluation({ run, ...evaluation, policies: withAdapter(evaluation.policies, adapter) });
    }
    return activities.trainPolicy(input);
  }

  return { ...activities, generateChains, generateTests, generateEvaluation, trainPolicy };
}

// Spreads the work of models over several workers. The shards of a batch run as activities of their own, on whichever workers
// are free. Then the ordinary activity joins what they stored, and computes what is missing. So the results are those of one
// worker, bit for bit, and nothing depends on the number of workers or on their fate.
import { countMinibatches } from '../core/rl/schedules.js';
import type { RunConfig } from '../core/schema/config.js';
import { countSharedMinibatches, type Shard, shardsOf } from '../core/shards.js';
import type { Activities, Call } from '../method/activities.js';
import { SEQUENCES } from '../method/sequences.js';

/** Runs the calls at the same time. */
export type RunShards = <T>(calls: (() => Promise<T>)[]) => Promise<T[]>;

/** The same calls. Sequences of model work run here, and their parts are spread over shards. */
export function spread(
  call: Call,
  { engine, ppo, batch }: Pick<RunConfig, 'engine' | 'ppo' | 'batch'>,
  together: RunShards,
): Call {
  const shards = shardsOf(engine.shards);
  if (shards.length === 1) return call;
  const perShard = <T>(work: (shard: Shard) => Promise<T>): Promise<T[]> =>
    together(shards.map((shard) => () => work(shard)));

  const spreading: Partial<Activities> = {
    generateChains: (input) => SEQUENCES.generateChains(spreadCall, input),
    generateEvaluation: (input) => SEQUENCES.generateEvaluation(spreadCall, input),
    trainPolicy: (input) => SEQUENCES.trainPolicy(spreadCall, input),

    /** A shard samples all stages, so that the keys and values of its chains stay on one worker. */
    async sampleChains(input) {
      const parts = await perShard((shard) => call('sampleChains', { ...input, shard }));
      return call('sampleChains', {
        ...input,
        shards: input.stages.map((_, i) => parts.map(({ turns }) => turns![i]!)),
      });
    },

    async generateTests(input) {
      const parts = await perShard((shard) => call('generateTests', { ...input, shard }));
      const written = parts.map(({ tests, tokens, seconds }) => ({ part: tests, tokens, seconds }));
      return call('generateTests', { ...input, shards: written });
    },

    async scoreOldPolicy({ rows, ...input }) {
      if (rows === 0) return call('scoreOldPolicy', input);
      const scores = await perShard((shard) => call('scoreShard', { ...input, shard }));
      const shards = scores.map((each) => ({ part: each.scores, tokens: 0, seconds: each.seconds }));
      return call('scoreOldPolicy', { ...input, shards });
    },

    /** Rows with thinking can make more minibatches than the history has room for. `updatePolicy` computes the others. */
    async updatePolicy({ rows = 0, ...input }) {
      const { run, ...update } = input;
      const count = Math.min(countMinibatches(rows, ppo), countSharedMinibatches(shards.length, batch.refill));
      for (let minibatch = 0; minibatch < count; minibatch++) {
        const times = await perShard((shard) => call('computeGradients', { run, update, minibatch, shard }));
        const seconds = Math.max(...times.map((each) => each.seconds));
        await call('applyGradients', { run, update, minibatch, of: shards.length, seconds });
      }
      return call('updatePolicy', input);
    },
  };

  const spreadCall: Call = (name, input) => {
    const own = spreading[name];
    return own === undefined ? call(name, input) : own(input);
  };
  return spreadCall;
}

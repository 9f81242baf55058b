// The activities that sample: they write the chains of a batch, stage by stage, and tests for them.
import type { Digest, Ref } from '../core/base/ref.js';
import type { Shard } from '../core/run/shards.js';
import type { Chain, Role, Stage, TestBatch, TestTarget } from '../core/schema/chain.js';
import type { StepMetrics } from '../core/schema/metrics.js';
import type { Position, RunRef, SamplingPolicy } from '../core/schema/runRef.js';
import { effect, result, type ShardResult, sequence, type Timed } from './activity.js';

/** Which chains to sample: a training batch, a fixed evaluation batch, or all problems to solve. */
export type ChainBatch =
  | { kind: 'train'; role: Role; position: Position }
  | { kind: 'evaluation'; split: 'validation' | 'test'; problems: number; greedy: boolean }
  | { kind: 'solve'; samples: number; temperature: number };

export interface GenerateReasoningInput {
  run: RunRef;
  batch: ChainBatch;
  stage: Stage;
  chains?: Ref<Chain[]>; // the chains up to the previous stage; absent for the first stage
  adapter?: Digest; // default: the base model
  shard?: Shard; // then only the chains of some problems are sampled
  shards?: ShardResult<Chain[]>[]; // the samples of all shards, which are then only joined
}

export interface GenerateReasoningOutput {
  chains: Ref<Chain[]>;
  tokens: number; // how many were sampled
}

export const generateReasoning = result<GenerateReasoningInput, GenerateReasoningOutput>('generateReasoning', 6, {
  queue: 'gpu',
  needs: 'engine',
});

export interface SampleChainsInput extends SamplingPolicy, Pick<GenerateReasoningInput, 'run' | 'batch'> {
  stages: Stage[]; // the stages of a chain, in their order
  shard?: Shard; // then only the chains of some problems are sampled
  shards?: ShardResult<Chain[]>[][]; // the samples of all shards in each stage, which are then only joined
}

export interface SampleChainsOutput extends GenerateReasoningOutput {
  turns?: ShardResult<Chain[]>[]; // one result per stage; only a shard has them
}

/** Samples every stage of a batch's chains. Each stage appends one turn to each chain. */
export const sampleChains = sequence<SampleChainsInput, SampleChainsOutput>(
  'sampleChains',
  {
    queue: 'gpu',
    isShard: ({ shard }) => shard !== undefined,
    /** A shard samples all stages, so that the keys and values of its chains stay on one worker. */
    async share({ again, perShard }, input) {
      const parts = await perShard((shard) => again({ ...input, shard }));
      return again({ ...input, shards: input.stages.map((_, i) => parts.map(({ turns }) => turns![i]!)) });
    },
  },
  async (call, { stages, adapter, frozen, shards, ...input }) => {
    let done: Timed<GenerateReasoningOutput> | undefined;
    const turns: ShardResult<Chain[]>[] = [];
    for (const [i, stage] of stages.entries()) {
      const turn = await call(generateReasoning, {
        ...input,
        stage,
        adapter: frozen?.[stage] ?? adapter,
        chains: done?.chains,
        shards: shards?.[i],
      });
      turns.push({ part: turn.chains, tokens: turn.tokens, seconds: turn.seconds });
      done = {
        ...turn,
        tokens: turn.tokens + (done?.tokens ?? 0),
        seconds: turn.seconds + (done?.seconds ?? 0),
      };
    }
    return { ...done!, turns: input.shard && turns };
  },
);

/** What gets tests: all stages of one random chain per problem (or of all), selected targets, or a random stage of each chain. */
export type TestTargets =
  | { kind: 'all-stages'; chains: Ref<Chain[]>; position?: Position }
  | { kind: 'selected'; targets: Ref<TestTarget[]>; position: Position }
  | { kind: 'evaluation'; chains: Ref<Chain[]> };

export interface GenerateTestsInput extends SamplingPolicy {
  run: RunRef;
  targets: TestTargets;
  samples: number;
  shard?: Shard; // then only the turns of some targets are sampled
  shards?: ShardResult<TestBatch>[]; // the samples of all shards, which are then only joined
}

export interface GenerateTestsOutput {
  tests: Ref<TestBatch>;
  tokens: number;
}

export const generateTests = result<GenerateTestsInput, GenerateTestsOutput>('generateTests', 7, {
  queue: 'gpu',
  needs: 'engine',
  isShard: ({ shard }) => shard !== undefined,
  async share({ again, perShard }, input) {
    const parts = await perShard((shard) => again({ ...input, shard }));
    const written = parts.map(({ tests, tokens, seconds }) => ({ part: tests, tokens, seconds }));
    return again({ ...input, shards: written });
  },
});

export interface GenerateChainsInput extends Omit<SampleChainsInput, 'shard' | 'shards'> {
  /** The discriminator also writes tests for all stages of one chain of each problem, or of all chains. */
  tests?: ({ samples: number } & SamplingPolicy) | undefined;
}

/** Tokens and seconds include chains and tests. */
export interface GenerateChainsOutput extends GenerateReasoningOutput {
  tests?: Ref<TestBatch>;
}

/** Samples the chains of a batch, and tests for them. */
export const generateChains = sequence<GenerateChainsInput, GenerateChainsOutput>(
  'generateChains',
  { queue: 'gpu', sharesParts: true },
  async (call, { tests, ...input }) => {
    const { run, batch } = input;
    const done = await call(sampleChains, input);
    if (tests === undefined) return done;
    const { chains, tokens, seconds } = done;
    const position = batch.kind === 'train' ? batch.position : undefined;
    const written = await call(generateTests, { run, targets: { kind: 'all-stages', chains, position }, ...tests });
    return { ...done, tests: written.tests, tokens: tokens + written.tokens, seconds: seconds + written.seconds };
  },
);

/** What was sampled for a step or an evaluation. */
export interface CountAnswersInput {
  run: RunRef;
  chains: Ref<Chain[]>[];
  tests: Ref<TestBatch>[];
}

/** The fields of a step's record that describe its answers. */
export type CountAnswersOutput = Pick<StepMetrics, 'answers' | 'problems' | 'warnings'>;

export const countAnswers = effect<CountAnswersInput, CountAnswersOutput>('countAnswers', { queue: 'cpu' });

// What workflows call for the longest parts of a step. Each is a row of memoised activities in one: an attempt that
// follows a killed one takes what is finished from the store, and the history holds one activity instead of many.
import type { Stage } from '../core/schema/chain.js';
import type { StepMetrics } from '../core/schema/metrics.js';
import { stepMetrics } from '../core/stepMetrics.js';
import type { Digest } from '../store/store.js';
import { evaluations } from './evaluation.js';
import type {
  ComputeRewardsInput,
  GenerateReasoningInput,
  GenerateReasoningOutput,
  ScoreOldPolicyInput,
  Timed,
  UpdatePolicyInput,
  UpdatePolicyOutput,
} from './types.js';
import type { Units } from './units.js';

export interface GenerateChainsInput extends Pick<GenerateReasoningInput, 'run' | 'batch' | 'adapter'> {
  stages: Stage[]; // of a chain, in order
  /** Of a training batch: tests of one chain of each problem at all stages, by the discriminator. */
  tests?: { samples: number; adapter: Digest } | undefined;
}
/** Tokens and seconds are of chains and tests. */
export interface GenerateChainsOutput extends GenerateReasoningOutput {
  tests?: Digest;
}

/** Scoring and updating know the same policy. */
interface TrainOnTrajectories
  extends Omit<UpdatePolicyInput, 'trajectories'>,
    Pick<ScoreOldPolicyInput, 'trajectories'> {}

/** The rest of a step once its programs have run: rewards, update, record. */
interface TrainOnRollout
  extends Omit<UpdatePolicyInput, 'trajectories'>,
    Pick<ComputeRewardsInput, 'verdicts' | 'chains' | 'tests' | 'memory'> {
  step: number; // of the whole run
  sampledTokens: number;
  generationSeconds: number;
  rolloutSeconds: number; // generation included
}

export type TrainPolicyInput = TrainOnTrajectories | TrainOnRollout;
/** What is optional comes of a rollout. */
export interface TrainPolicyOutput extends UpdatePolicyOutput {
  memory?: Digest;
  metrics?: StepMetrics; // on record
}

export function composites(units: Units) {
  async function trainOnTrajectories(input: TrainOnTrajectories): Promise<Timed<UpdatePolicyOutput>> {
    const { run, role, trajectories, state } = input;
    const { adapter, valueHead } = state;
    const scored = await units.scoreOldPolicy({ run, role, trajectories, adapter, ...(valueHead && { valueHead }) });
    const updated = await units.updatePolicy({ ...input, trajectories: scored.trajectories });
    return { ...updated, seconds: scored.seconds + updated.seconds };
  }

  async function trainOnRollout(input: TrainOnRollout): Promise<Timed<TrainPolicyOutput>> {
    const { run, role, position, state, learningRate, verdicts, chains, tests, memory, ...counts } = input;
    const rewarded = await units.computeRewards({ run, role, position, verdicts, chains, tests, memory });
    const { trajectories } = rewarded;
    const updated = await trainOnTrajectories({ run, role, position, state, learningRate, trajectories });
    const artifacts = { config: run.config, problems: run.problems, verdicts, chains, tests, memory, trajectories };
    const metrics = stepMetrics({ ...counts, position, role, learningRate, rewarded, updated, artifacts });
    await units.recordMetrics({ run, metrics });
    return { ...updated, memory: rewarded.memory, metrics };
  }

  /** The stage chain: every stage appends one turn to each chain of the batch. `truncated` is that of the last one. */
  async function generateChains({
    stages,
    tests,
    ...input
  }: GenerateChainsInput): Promise<Timed<GenerateChainsOutput>> {
    let done: Timed<GenerateReasoningOutput> | undefined;
    for (const stage of stages) {
      const turn = await units.generateReasoning({ ...input, stage, ...(done && { chains: done.chains }) });
      done = {
        ...turn,
        tokens: turn.tokens + (done?.tokens ?? 0),
        seconds: turn.seconds + (done?.seconds ?? 0),
      };
    }
    const { chains, tokens, seconds } = done!;
    if (tests === undefined) return done!;
    const { run, batch } = input;
    const position = batch.kind === 'train' ? batch.position : undefined;
    const targets = { kind: 'all-stages', chains, ...(position && { position }) } as const;
    const written = await units.generateTests({ run, targets, ...tests });
    return { ...done!, tests: written.tests, tokens: tokens + written.tokens, seconds: seconds + written.seconds };
  }

  return {
    ...evaluations(units, generateChains),

    generateChains,

    /** Old log-probs of the trajectories, then PPO on them; of a rollout its rewards first and its record last. */
    trainPolicy: (input: TrainPolicyInput): Promise<Timed<TrainPolicyOutput>> =>
      'trajectories' in input ? trainOnTrajectories(input) : trainOnRollout(input),
  };
}

// Rewards and PPO: the part of a step that follows the execution of its programs.
import type { Digest, Ref } from '../core/base/ref.js';
import type { ReplayBuffer } from '../core/rewards/archive.js';
import type { Mismatch } from '../core/rl/importance.js';
import { countMinibatches } from '../core/rl/schedules.js';
import { type AlarmState, watchStep } from '../core/run/alarms.js';
import { nothingTrained } from '../core/run/answerShares.js';
import { countSharedMinibatches, type Shard } from '../core/run/shards.js';
import type { Chain, Role, TestBatch } from '../core/schema/chain.js';
import type { RewardMetrics, StepFigures, StepMetrics } from '../core/schema/metrics.js';
import type { Position, RoleState, RunRef, SamplingPolicy, UpdatePosition } from '../core/schema/runRef.js';
import type { PolicyStats, TokenNumbers, TokenScores, Trajectory } from '../core/schema/trajectory.js';
import type { SuiteVerdicts } from '../core/schema/verdicts.js';
import { effect, result, type ShardResult, sequence, type Timed } from './activity.js';
import { type EvaluationSamples, type GenerateEvaluationInput, generateEvaluation } from './evaluate.js';
import { recordMetrics } from './records.js';
import { type CountAnswersInput, countAnswers } from './sample.js';

export interface ComputeRewardsInput {
  run: RunRef;
  role: Role;
  position: Position;
  verdicts: Ref<SuiteVerdicts[]>;
  chains?: Ref<Chain[]>; // only for the generator
  tests?: Ref<TestBatch>; // only for the discriminator
  replayBuffer: Ref<ReplayBuffer>;
}

export interface ComputeRewardsOutput {
  trajectories: Ref<Trajectory[]>;
  replayBuffer: Ref<ReplayBuffer>;
  rows: number; // the number of trajectories
  metrics: RewardMetrics;
}

export const computeRewards = result<ComputeRewardsInput, ComputeRewardsOutput>('computeRewards', 7, { queue: 'cpu' });

export type MeasureStepInput = Pick<ComputeRewardsInput, 'run' | 'role' | 'verdicts' | 'chains'>;

export const measureStep = effect<MeasureStepInput, StepFigures>('measureStep', { queue: 'cpu' });

/** The scores by trajectory. Null stands for a trajectory of another shard. */
export type PartialScores = (TokenScores | null)[];

export interface ScoreOldPolicyInput {
  run: RunRef;
  role: Role;
  trajectories: Ref<Trajectory[]>;
  adapter: Digest;
  rows?: number; // the number of trajectories, for a workflow that shares the work
  shards?: ShardResult<PartialScores>[]; // the scores that all shards computed
}

export interface ScoreOldPolicyOutput {
  trajectories: Ref<Trajectory[]>;
  entropies?: Ref<TokenNumbers>; // absent if nothing is trained
  mismatch?: Mismatch; // measured on the trained tokens; only with remote rollouts
}

export type ScoreShardInput = Omit<ScoreOldPolicyInput, 'rows' | 'shards'> & { shard: Shard };

export interface ScoreShardOutput {
  scores: Ref<PartialScores>;
}

export const scoreShard = result<ScoreShardInput, ScoreShardOutput>('scoreShard', 2, {
  queue: 'gpu',
  needs: 'engine',
  isShard: () => true,
});

export const scoreOldPolicy = result<ScoreOldPolicyInput, ScoreOldPolicyOutput>('scoreOldPolicy', 4, {
  queue: 'gpu',
  needs: 'engine',
  async share({ again, call, perShard }, { rows, ...input }) {
    if (rows === 0) return again(input);
    const scores = await perShard((shard) => call(scoreShard, { ...input, shard }));
    const shards = scores.map((each) => ({ part: each.scores, tokens: 0, seconds: each.seconds }));
    return again({ ...input, shards });
  },
});

export interface UpdatePolicyInput {
  run: RunRef;
  role: Role;
  position: UpdatePosition;
  trajectories: Ref<Trajectory[]>;
  state: RoleState;
  learningRate: number;
  rows?: number; // the number of trajectories, for a workflow that shares the work
}

export interface UpdatePolicyOutput {
  state: RoleState;
  stats: PolicyStats;
  /**
   * π / π_old of each trained token, taken in the last epoch before the update of its minibatch. Absent if nothing was
   * trained, and in the warm start.
   */
  ratios?: Ref<TokenNumbers>;
}

/** One minibatch of an update whose gradients several workers compute. */
export interface MinibatchInput {
  run: RunRef;
  update: Omit<UpdatePolicyInput, 'run' | 'rows'>;
  minibatch: number; // the index of the minibatch
}

export type ComputeGradientsInput = MinibatchInput & { shard: Shard };

export type ApplyGradientsInput = MinibatchInput & { of: number; seconds: number }; // the number of shards, and their time

export const computeGradients = effect<ComputeGradientsInput, Timed<object>>('computeGradients', {
  queue: 'gpu',
  needs: 'engine',
  isShard: () => true,
});

export const applyGradients = effect<ApplyGradientsInput, object>('applyGradients', { queue: 'gpu', needs: 'engine' });

export const updatePolicy = result<UpdatePolicyInput, UpdatePolicyOutput>('updatePolicy', 4, {
  queue: 'gpu',
  needs: 'engine',
  /** A history has room for a limited number of shared minibatches. `updatePolicy` computes the others. */
  async share({ again, call, perShard, shards, ppo }, { rows = 0, ...input }) {
    const { run, ...update } = input;
    const count = Math.min(countMinibatches(rows, ppo!), countSharedMinibatches(shards.length));
    for (let minibatch = 0; minibatch < count; minibatch++) {
      const times = await perShard((shard) => call(computeGradients, { run, update, minibatch, shard }));
      const seconds = Math.max(...times.map((each) => each.seconds));
      await call(applyGradients, { run, update, minibatch, of: shards.length, seconds });
    }
    return again(input);
  },
});

export const removeUpdateFiles = effect<{ run: RunRef }, object>('removeUpdateFiles', { queue: 'cpu' });

/** The part of a step that follows the execution of its programs: rewards, update, record. */
export interface TrainPolicyInput
  extends Omit<UpdatePolicyInput, 'trajectories' | 'position' | 'rows'>,
    Pick<ComputeRewardsInput, 'verdicts' | 'chains' | 'tests' | 'replayBuffer'> {
  position: Position;
  step: number; // the number of this step in the whole run
  sampledTokens: number;
  generationSeconds: number;
  rolloutSeconds: number; // includes the generation
  /** What both roles sampled for the step. Absent in steps that an earlier version planned. */
  sampled?: Omit<CountAnswersInput, 'run'>;
  sandboxFaultRate?: number | undefined; // the share of sandbox attempts that failed; absent if none failed
  alarms?: AlarmState | undefined; // the state of the alarms after the previous step
  /** Given at the end of an epoch. A policy without an adapter uses the adapter that this step trains. */
  evaluation?: (Omit<GenerateEvaluationInput, 'run'> & { policies: Record<Role, SamplingPolicy> }) | undefined;
}

export interface TrainPolicyOutput extends Omit<UpdatePolicyOutput, 'ratios' | 'stats'> {
  replayBuffer: Ref<ReplayBuffer>;
  metrics: StepMetrics; // what was recorded
  alarms: AlarmState;
  evaluation?: EvaluationSamples; // present if it was requested
}

/**
 * Computes rewards, scores the trajectories with the old policy and runs PPO on them. At the end of an epoch it also
 * samples for the evaluation.
 */
export const trainPolicy = sequence<TrainPolicyInput, TrainPolicyOutput>(
  'trainPolicy',
  { queue: 'gpu', sharesParts: true },
  async (call, input) => {
    const { run, role, position, state, learningRate, verdicts, chains, tests, replayBuffer, step, sampledTokens } =
      input;
    const rewarded = await call(computeRewards, { run, role, position, verdicts, chains, tests, replayBuffer });
    const { trajectories, rows } = rewarded;
    const scored = await call(scoreOldPolicy, { run, role, trajectories, adapter: state.adapter, rows });
    const update = { run, role, position, state, learningRate, trajectories: scored.trajectories, rows };
    const updated = await call(updatePolicy, update);
    const seconds = rewarded.seconds + scored.seconds + updated.seconds;
    const figures = await call(measureStep, { run, role, verdicts, chains });
    const counted = input.sampled && (await call(countAnswers, { run, ...input.sampled }));
    const { sandboxFaultRate } = input;
    const watched = watchStep(input.alarms ?? {}, { role, ...rewarded.metrics, ...figures, sandboxFaultRate });
    const untrained = rows === 0 ? [nothingTrained(role)] : [];
    const warnings = [...(counted?.warnings ?? []), ...untrained, ...watched.alarms];
    const metrics: StepMetrics = {
      kind: 'step',
      step,
      stage: position.stage,
      phase: position.phase,
      epoch: position.epoch,
      role,
      ...rewarded.metrics,
      ...figures,
      ...counted,
      sandboxFaultRate,
      ...(warnings.length > 0 && { warnings }),
      update: { ...updated.stats, ...scored.mismatch },
      rows,
      learningRate,
      sampledTokens,
      tokensPerSecond: sampledTokens / Math.max(input.generationSeconds, 1e-9),
      seconds: input.rolloutSeconds + seconds,
      artifacts: { config: run.config, problems: run.problems, verdicts, chains, tests, replayBuffer, trajectories },
    };
    const { adapter } = updated.state;
    const { generator, discriminator } = input.evaluation?.policies ?? {};
    const evaluation =
      input.evaluation &&
      (await call(generateEvaluation, {
        run,
        ...input.evaluation,
        policies: { generator: { adapter, ...generator }, discriminator: { adapter, ...discriminator } },
      }));
    await call(recordMetrics, { run, metrics }); // comes last, so that a step that fails and is skipped has no record
    await call(removeUpdateFiles, { run });
    return {
      state: updated.state,
      seconds,
      replayBuffer: rewarded.replayBuffer,
      metrics,
      evaluation,
      alarms: watched.state,
    };
  },
);

// What both kinds of step end with: rewards, the policy update, and the record of it.
import type { PolicyState } from '../../activities/types.js';
import type { Role } from '../../core/schema/chain.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import type { StepContext, StepOutcome, TrainingState } from '../state.js';

export interface Rollout {
  verdicts: string;
  chains?: string;
  tests?: string;
  memory: string;
  sampledTokens: number;
  executions: number;
  generationSeconds: number;
  seconds: number; // generation included
}

export async function updateRole(
  context: StepContext,
  state: TrainingState,
  role: Role,
  rollout: Rollout,
): Promise<StepOutcome> {
  const { acts, run, config, position, learningRate } = context;
  const { verdicts, chains, tests, memory } = rollout;
  const rewarded = await acts.computeRewards({ run, role, position, verdicts, chains, tests, memory });
  const before = state.policy[role];
  const updated = await acts.trainPolicy({
    run,
    role,
    position,
    trajectories: rewarded.trajectories,
    state: before,
    learningRate,
  });
  const metrics: StepMetrics = {
    kind: 'step',
    step: state.step + 1,
    stage: position.stage,
    phase: position.phase,
    epoch: position.epoch,
    role,
    ...rewarded.metrics,
    update: updated.stats,
    rows: rewarded.rows,
    learningRate,
    sampledTokens: rollout.sampledTokens,
    tokensPerSecond: rollout.sampledTokens / Math.max(rollout.generationSeconds, 1e-9),
    seconds: rollout.seconds + rewarded.seconds + updated.seconds,
    artifacts: {
      ...{ config: run.config, problems: run.problems, verdicts, chains, tests, memory },
      trajectories: rewarded.trajectories,
    },
  };
  await acts.recordMetrics({ run, metrics });
  const policy: PolicyState =
    config.mode === 'unified'
      ? { generator: updated.state, discriminator: updated.state }
      : { ...state.policy, [role]: updated.state };
  const cost = { tokens: rollout.sampledTokens, seconds: metrics.seconds, executions: rollout.executions };
  return { policy, memory: rewarded.memory, metrics, cost };
}

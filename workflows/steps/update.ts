// What both kinds of step end with: rewards, the policy update, and the record of it.
import type { PolicyState } from '../../activities/types.js';
import type { Role } from '../../core/schema/chain.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import type { StepContext, StepOutcome, TrainingState, WrittenEvaluation } from '../state.js';
import { ofEpoch } from './evaluation.js';

export interface Rollout {
  verdicts: string;
  chains?: string;
  tests?: string;
  replayBuffer: string;
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
  const trained = await inOneActivity(context, state, role, rollout);
  const policy: PolicyState =
    context.config.mode === 'unified'
      ? { generator: trained.state, discriminator: trained.state }
      : { ...state.policy, [role]: trained.state };
  const { metrics, replayBuffer, written } = trained;
  const cost = { tokens: rollout.sampledTokens, seconds: metrics.seconds, executions: rollout.executions };
  return { policy, replayBuffer, metrics, cost, written };
}

interface Trained {
  state: PolicyState[Role];
  replayBuffer: string;
  metrics: StepMetrics;
  written?: WrittenEvaluation | undefined;
}

async function inOneActivity(
  context: StepContext,
  { policy, step, base }: TrainingState,
  role: Role,
  rollout: Rollout,
): Promise<Trained> {
  const { acts, run, config, position, learningRate, closes } = context;
  const { verdicts, chains, tests, replayBuffer, sampledTokens, generationSeconds, seconds: rolloutSeconds } = rollout;
  const { generator, discriminator } = policy;
  // in unified mode both roles are what was trained
  const others = role === 'generator' ? { discriminator: discriminator.adapter } : { generator: generator.adapter };
  const adapters = config.mode === 'unified' ? {} : others;
  const trained = await acts.trainPolicy({
    ...{ run, role, position, learningRate, state: policy[role], step: step + 1 },
    ...{ verdicts, chains, tests, replayBuffer, sampledTokens, generationSeconds, rolloutSeconds },
    ...(closes && { evaluation: { ...ofEpoch(context, base), adapters } }),
  });
  return {
    state: trained.state,
    replayBuffer: trained.replayBuffer,
    metrics: trained.metrics,
    written: trained.evaluation,
  };
}

// What both kinds of step end with: rewards, the policy update, and the record of it.
import type { PolicyState } from '../../activities/types.js';
import type { Role } from '../../core/schema/chain.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import { stepMetrics } from '../../core/stepMetrics.js';
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
  const trained = await (context.joined ? inOneActivity : inThree)(context, state, role, rollout);
  const policy: PolicyState =
    context.config.mode === 'unified'
      ? { generator: trained.state, discriminator: trained.state }
      : { ...state.policy, [role]: trained.state };
  const { metrics, memory } = trained;
  const cost = { tokens: rollout.sampledTokens, seconds: metrics.seconds, executions: rollout.executions };
  return { policy, memory, metrics, cost };
}

interface Trained {
  state: PolicyState[Role];
  memory: string;
  metrics: StepMetrics;
}

async function inOneActivity(
  { acts, run, position, learningRate }: StepContext,
  { policy, step }: TrainingState,
  role: Role,
  rollout: Rollout,
): Promise<Trained> {
  const { verdicts, chains, tests, memory, sampledTokens, generationSeconds, seconds: rolloutSeconds } = rollout;
  const trained = await acts.trainPolicy({
    ...{ run, role, position, learningRate, state: policy[role], step: step + 1 },
    ...{ verdicts, chains, tests, memory, sampledTokens, generationSeconds, rolloutSeconds },
  });
  return { state: trained.state, memory: trained.memory!, metrics: trained.metrics! };
}

/** As stages did that began before the three were one. */
async function inThree(
  { acts, run, position, learningRate }: StepContext,
  { policy, step }: TrainingState,
  role: Role,
  rollout: Rollout,
): Promise<Trained> {
  const { verdicts, chains, tests, memory, sampledTokens, generationSeconds, seconds: rolloutSeconds } = rollout;
  const rewarded = await acts.computeRewards({ run, role, position, verdicts, chains, tests, memory });
  const { trajectories } = rewarded;
  const updated = await acts.trainPolicy({ run, role, position, trajectories, state: policy[role], learningRate });
  const metrics = stepMetrics({
    ...{ step: step + 1, position, role, learningRate, sampledTokens, generationSeconds, rolloutSeconds },
    ...{ rewarded, updated },
    artifacts: { config: run.config, problems: run.problems, verdicts, chains, tests, memory, trajectories },
  });
  await acts.recordMetrics({ run, metrics });
  return { state: updated.state, memory: rewarded.memory, metrics };
}

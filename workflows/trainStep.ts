// One policy update of one role: sample, write tests, judge, and train. Training includes rewards, advantages and PPO.
import type { PolicyState, Position } from '../activities/types.js';
import { addUsage, NO_USAGE, type Usage } from '../core/budget.js';
import { learningRateFactor } from '../core/rl/schedules.js';
import { countSteps, endsEpoch, type PlannedStep } from '../core/schedule.js';
import type { Stage } from '../core/schema/chain.js';
import type { StepMetrics } from '../core/schema/metrics.js';
import { advance, evaluationBatch } from './evaluation.js';
import { type CallOptions, StepSkipped } from './failures.js';
import { stepProgress } from './progress.js';
import { recordRequest } from './requests.js';
import { discriminatorRollout, generatorRollout, type Rollout } from './rollouts.js';
import { type EvaluationSamples, planOf, type RunContext, type RunState, type TrainingActivities } from './runState.js';

const ROLLOUTS = { generator: generatorRollout, discriminator: discriminatorRollout };

/** Trains the role of the planned step. If a person decides to skip the step, only what it used is kept. */
export async function trainStep(context: RunContext, state: RunState, planned: PlannedStep): Promise<RunState> {
  const meter = { used: NO_USAGE };
  const activities = meteredActivities(context.activities, meter);
  const position: Position = { stage: state.stage as Stage, ...planned };
  let outcome: Outcome;
  try {
    const rollout = await ROLLOUTS[planned.role](activities, state, position);
    outcome = await updatePolicy(activities, state, position, rollout);
  } catch (error) {
    if (!(error instanceof StepSkipped)) throw error;
    const { used } = meter;
    const recorded = await recordRequest(context, state, { action: 'skip', reason: error.reason, spent: used });
    return advance(context, { ...recorded, used: addUsage(state.used, used) });
  }
  const { policy, replayBuffer, metrics, used, samples } = outcome;
  const trained: RunState = {
    ...state,
    policy,
    replayBuffer,
    step: state.step + 1,
    seconds: state.seconds + metrics.seconds,
    used: addUsage(state.used, used),
    latestUsage: { ...state.latestUsage, [planned.role]: used },
  };
  const next = await advance(context, trained, samples);
  context.hooks.onProgress?.(stepProgress(next, position, metrics));
  return next;
}

interface Outcome extends Pick<RunState, 'policy' | 'replayBuffer' | 'used'> {
  metrics: StepMetrics;
  samples?: EvaluationSamples | undefined;
}

/** Rewards, PPO and the record of the step. The last step of an epoch also writes the samples of its evaluation. */
async function updatePolicy(
  activities: TrainingActivities,
  state: RunState,
  position: Position,
  { seconds: rolloutSeconds, executions, ...rollout }: Rollout,
): Promise<Outcome> {
  const { run, config, policy, step, baseChains } = state;
  const { role } = position;
  const isUnified = config.mode === 'unified'; // both roles are the policy being trained
  const other = role === 'generator' ? 'discriminator' : 'generator';
  const evaluation = {
    ...evaluationBatch(config, 'validation'),
    greedy: false,
    base: baseChains.validation,
    adapters: isUnified ? {} : { [other]: policy[other].adapter },
  };
  const trained = await activities.trainPolicy({
    ...{ run, role, position, state: policy[role], step: step + 1, rolloutSeconds, ...rollout },
    learningRate: config.ppo.learningRate * learningRateFactor(step + 1, countSteps(config), config.ppo),
    ...(endsEpoch(planOf(state), state.next) && { evaluation }),
  });
  const { metrics, replayBuffer } = trained;
  const roles: PolicyState = isUnified
    ? { generator: trained.state, discriminator: trained.state }
    : { ...policy, [role]: trained.state };
  const used = { tokens: rollout.sampledTokens, seconds: metrics.seconds, executions };
  return { policy: roles, replayBuffer, metrics, used, samples: trained.evaluation };
}

/** The same activities for one step. Their usage is added up, and a person may skip the step if one of them fails. */
function meteredActivities(activities: TrainingActivities, meter: { used: Usage }): TrainingActivities {
  const metered = Object.entries(activities).map(([name, activity]) => [
    name,
    async (input: object): Promise<unknown> => {
      const call = activity as (input: object, options: CallOptions) => Promise<Partial<Usage>>;
      const result = await call(input, { isSkippable: true });
      const { tokens = 0, seconds = 0, executions = 0 } = result;
      meter.used = addUsage(meter.used, { tokens, seconds, executions });
      return result;
    },
  ]);
  return Object.fromEntries(metered) as TrainingActivities;
}

// One policy update of one role: sample, write tests, judge, and train. Training includes rewards, advantages and PPO.
import type { Activities } from '../activities/index.js';
import type { PolicyState, Position } from '../activities/types.js';
import { addUsage, NO_USAGE, type Usage } from '../core/budget.js';
import { learningRateFactor } from '../core/rl/schedules.js';
import { countSteps, endsEpoch, type PlannedStep, planOf, stepsLeft } from '../core/schedule.js';
import type { Stage } from '../core/schema/chain.js';
import { advance, evaluationBatch } from './evaluation.js';
import { StepSkipped } from './failures.js';
import { recordAndApply } from './requests.js';
import { discriminatorRollout, generatorRollout } from './rollouts.js';
import type { RunContext, RunState } from './runState.js';

const ROLLOUTS = { generator: generatorRollout, discriminator: discriminatorRollout };

/** Trains the role of the planned step. If a person decides to skip the step, only what it used is kept. */
export async function trainStep(context: RunContext, state: RunState, planned: PlannedStep): Promise<RunState> {
  const meter: Meter = { used: NO_USAGE, generationSeconds: 0 };
  const position: Position = { stage: state.stage as Stage, ...planned };
  const { phase, epoch, role } = planned;
  const label = `stage ${state.stage} · step ${planned.step} · ${phase === role ? role : `${phase} · ${role}`}`;
  const activities = stepActivities(context.activities, label, meter);
  context.hooks.onProgress?.({ stage: position.stage, phase, epoch });
  try {
    const rollout = await ROLLOUTS[role](activities, state, position);
    const { generationSeconds } = meter;
    const { tokens: sampledTokens, seconds: rolloutSeconds, executions } = meter.used;
    const trained = await activities.trainPolicy({
      ...{ ...rollout, ...trainingInput(state, position), sampledTokens, generationSeconds, rolloutSeconds },
    });
    const used = { tokens: sampledTokens, seconds: trained.metrics.seconds, executions };
    const isUnified = state.config.mode === 'unified'; // both roles are the policy that was trained
    const policy: PolicyState = isUnified
      ? { generator: trained.state, discriminator: trained.state }
      : { ...state.policy, [role]: trained.state };
    const updated: RunState = {
      ...state,
      policy,
      replayBuffer: trained.replayBuffer,
      step: state.step + 1,
      seconds: state.seconds + used.seconds,
      used: addUsage(state.used, used),
      latestUsage: { ...state.latestUsage, [role]: used },
    };
    const next = await advance(context, updated, trained.evaluation);
    const { reward, tokensPerSecond, passRate, validity } = trained.metrics;
    context.hooks.onProgress?.({
      ...{ step: next.step, totalSteps: next.step + stepsLeft(next), reward, tokensPerSecond, validity },
      ...(role === 'generator' && { passRate }),
    });
    return next;
  } catch (error) {
    if (!(error instanceof StepSkipped)) throw error;
    return recordAndApply(context, state, { action: 'skip', reason: error.reason, spent: meter.used });
  }
}

/** The last step of an epoch also writes the samples of its evaluation, with the adapter that it trains. */
function trainingInput(state: RunState, position: Position) {
  const { run, config, policy, step, baseChains } = state;
  const { role } = position;
  const other = role === 'generator' ? 'discriminator' : 'generator';
  const adapters = config.mode === 'unified' ? {} : { [other]: policy[other].adapter };
  const evaluation = { ...evaluationBatch(config, 'validation'), greedy: false, base: baseChains.validation, adapters };
  return {
    ...{ run, role, position, state: policy[role], step: step + 1 },
    learningRate: config.ppo.learningRate * learningRateFactor(step + 1, countSteps(config), config.ppo),
    ...(endsEpoch(planOf(state), state.next) && { evaluation }),
  };
}

interface Meter {
  used: Usage;
  generationSeconds: number; // of activities that sample tokens
}

/** The same activities for one step. Their usage is added up, and a person may skip the step if one of them fails. */
function stepActivities(activities: Activities, step: string, meter: Meter): Activities {
  const metered = Object.entries(activities).map(([name, activity]) => [
    name,
    async (input: object): Promise<unknown> => {
      const call = activity as (input: object, step: string) => Promise<Partial<Usage>>;
      const result = await call(input, step);
      const { tokens = 0, seconds = 0, executions = 0 } = result;
      meter.used = addUsage(meter.used, { tokens, seconds, executions });
      if (tokens > 0) meter.generationSeconds += seconds;
      return result;
    },
  ]);
  return Object.fromEntries(metered) as Activities;
}

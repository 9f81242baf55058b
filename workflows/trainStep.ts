// One policy update of one role: sample, write tests, judge, and train. Training includes rewards, advantages and PPO.
import type { Activities } from '../activities/index.js';
import type { Position, SamplingPolicy } from '../activities/types.js';
import { addUsage, NO_USAGE, type Usage } from '../core/budget.js';
import { learningRateFactor } from '../core/rl/schedules.js';
import { countSteps, endsEpoch, type PlannedStep, planOf, stepsLeft } from '../core/schedule.js';
import type { Role, Stage } from '../core/schema/chain.js';
import { advance, evaluationBatch } from './evaluation.js';
import { StepSkipped } from './failures.js';
import { recordAndApply } from './requests.js';
import { discriminatorRollout, generatorRollout } from './rollouts.js';
import { type RunContext, type RunState, type StepResult, samplingPolicy, withTrained } from './runState.js';
import { withShards } from './shards.js';
import { warmStartStep } from './warmStart.js';

const ROLLOUTS = { generator: generatorRollout, discriminator: discriminatorRollout };

/** Trains the role of the planned step. If a person decides to skip the step, only what it used is kept. */
export async function trainStep(context: RunContext, state: RunState, planned: PlannedStep): Promise<RunState> {
  const meter: Meter = { used: NO_USAGE, generationSeconds: 0 };
  const { phase, epoch, role, step } = planned;
  const place = state.stage === 0 ? '' : `stage ${state.stage} · `;
  const label = `${place}step ${step} · ${phase === role ? role : `${phase} · ${role}`}`;
  const labelled = mapActivities(context.activities, (call) => (input) => call(input, label));
  const activities = withUsage(withShards(labelled, state.config, context.hooks.runShards), meter);
  context.hooks.onProgress?.({ stage: state.stage, phase, epoch });
  try {
    const { changes, used, evaluation, progress } =
      phase === 'warm-start'
        ? await warmStartStep(activities, state, planned)
        : await policyStep(activities, state, planned, meter);
    const updated: RunState = {
      ...state,
      ...changes,
      step: state.step + 1,
      seconds: state.seconds + used.seconds,
      used: addUsage(state.used, used),
      latestUsage: { ...state.latestUsage, [role]: used },
    };
    const next = await advance(context, updated, evaluation);
    context.hooks.onProgress?.({ step: next.step, totalSteps: next.step + stepsLeft(next), ...progress });
    return next;
  } catch (error) {
    if (!(error instanceof StepSkipped)) throw error;
    return recordAndApply(context, state, { action: 'skip', reason: error.reason, spent: meter.used });
  }
}

async function policyStep(
  activities: Activities,
  state: RunState,
  planned: PlannedStep,
  meter: Meter,
): Promise<StepResult> {
  const { role } = planned;
  const position: Position = { stage: state.stage as Stage, ...planned };
  const rollout = await ROLLOUTS[role](activities, state, position);
  const { generationSeconds } = meter;
  const { tokens: sampledTokens, seconds: rolloutSeconds, executions } = meter.used;
  const trained = await activities.trainPolicy({
    ...rollout,
    ...trainingInput(state, position),
    sampledTokens,
    generationSeconds,
    rolloutSeconds,
  });
  const { reward, tokensPerSecond, passRate, validity, warnings, seconds } = trained.metrics;
  const opponent = opensPair(state, planned) ? state.policy.generator.adapter : undefined;
  return {
    changes: { policy: withTrained(state, role, trained.state), opponent, replayBuffer: trained.replayBuffer },
    used: { tokens: sampledTokens, seconds, executions },
    evaluation: trained.evaluation,
    progress: { reward, tokensPerSecond, validity, warnings, ...(role === 'generator' && { passRate }) },
  };
}

/** Whether it is the first of two simultaneous steps. */
const opensPair = ({ config }: RunState, { phase, role }: PlannedStep): boolean =>
  config.schedule.simultaneous && phase === 'alternating' && role === 'generator';

/** The last step of an epoch also writes the samples of its evaluation, with the adapter that it trains. */
function trainingInput(state: RunState, position: Position) {
  const { run, config, policy, step, baseChains, warmStart } = state;
  const { role } = position;
  const updates = step + 1 - (warmStart?.steps ?? 0);
  const policyOf = (each: Role): SamplingPolicy => {
    const { adapter, ...frozen } = samplingPolicy(policy[each]);
    return each === role || config.mode === 'unified' ? frozen : { adapter, ...frozen };
  };
  const policies = { generator: policyOf('generator'), discriminator: policyOf('discriminator') };
  const evaluation = { ...evaluationBatch(config, 'validation'), greedy: false, base: baseChains.validation, policies };
  return {
    run,
    role,
    position,
    state: policy[role],
    step: step + 1,
    learningRate: config.ppo.learningRate * learningRateFactor(updates, countSteps(config), config.ppo),
    ...(endsEpoch(planOf(state), state.next) && { evaluation }),
  };
}

interface Meter {
  used: Usage;
  generationSeconds: number; // of activities that sample tokens
}

/** With the label of a step, a call is shown under it, and a person may skip the step if the call fails. */
type Call = (input: object, label?: string) => Promise<Partial<Usage>>;

const mapActivities = (activities: Activities, change: (call: Call) => Call): Activities =>
  Object.fromEntries(
    Object.entries(activities).map(([name, activity]) => [name, change(activity as Call)]),
  ) as unknown as Activities;

/** The same activities, which add what they use to the meter. */
const withUsage = (activities: Activities, meter: Meter): Activities =>
  mapActivities(activities, (call) => async (input) => {
    const result = await call(input);
    const { tokens = 0, seconds = 0, executions = 0 } = result;
    meter.used = addUsage(meter.used, { tokens, seconds, executions });
    if (tokens > 0) meter.generationSeconds += seconds;
    return result;
  });

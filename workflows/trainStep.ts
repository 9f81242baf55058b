// One policy update of one role: sample, write tests, judge, and train. Training includes rewards, advantages and PPO.
import { learningRateFactor } from '../core/rl/schedules.js';
import { addUsage } from '../core/run/budget.js';
import { countSteps, endsEpoch, type PlannedStep, planOf, stepsLeft } from '../core/run/schedule.js';
import type { Role, Stage } from '../core/schema/chain.js';
import type { Position, SamplingPolicy } from '../core/schema/runRef.js';
import type { Call } from '../method/activity.js';
import { discriminatorRollout, generatorRollout, samplingPolicy } from '../method/rollouts.js';
import { trainPolicy } from '../method/train.js';
import { advance, evaluationBatch } from './evaluation.js';
import { Meter, metered } from './layers.js';
import { modelCall, type RunContext, type RunState, type StepResult, withTrained } from './runState.js';
import { warmStartStep } from './warmStart.js';

const ROLLOUTS = { generator: generatorRollout, discriminator: discriminatorRollout };

/** @throws StepSkipped if a person decides to skip the step after a failure. The error says what the step has used. */
export async function trainStep(context: RunContext, state: RunState, planned: PlannedStep): Promise<RunState> {
  const { phase, epoch, role, step } = planned;
  const place = state.stage === 0 ? '' : `stage ${state.stage} · `;
  const label = `${place}step ${step} · ${phase === role ? role : `${phase} · ${role}`}`;
  const meter = new Meter();
  const call = metered(meter)(modelCall(context, state, label));
  context.onProgress({ stage: state.stage, phase, epoch });
  const { changes, evaluation, progress } =
    phase === 'warm-start' ? await warmStartStep(call, state, planned) : await policyStep(call, meter, state, planned);
  const { used } = meter;
  const updated: RunState = {
    ...state,
    ...changes,
    step: state.step + 1,
    seconds: state.seconds + used.seconds,
    used: addUsage(state.used, used),
    latestUsage: { ...state.latestUsage, [role]: used },
  };
  const next = await advance(context, updated, evaluation);
  context.onProgress({ step: next.step, totalSteps: next.step + stepsLeft(next), ...progress });
  return next;
}

async function policyStep(call: Call, meter: Meter, state: RunState, planned: PlannedStep): Promise<StepResult> {
  const { role } = planned;
  const position: Position = { stage: state.stage as Stage, ...planned };
  const rollout = await ROLLOUTS[role](call, state, position);
  const { tokens: sampledTokens, seconds: rolloutSeconds } = meter.used;
  const trained = await call(trainPolicy, {
    ...rollout,
    ...trainingInput(state, position),
    sampledTokens,
    sandboxFaultRate: meter.sandboxFaultRate,
    generationSeconds: meter.generationSeconds,
    rolloutSeconds,
  });
  const { reward, tokensPerSecond, passRate, validity, warnings } = trained.metrics;
  return {
    changes: {
      policy: withTrained(state, role, trained.state),
      replayBuffer: trained.replayBuffer,
      alarms: trained.alarms,
    },
    evaluation: trained.evaluation,
    progress: { reward, tokensPerSecond, validity, warnings, ...(role === 'generator' && { passRate }) },
  };
}

/** The last step of an epoch also writes the samples of its evaluation, with the adapter that it trains. */
function trainingInput(state: RunState, position: Position) {
  const { run, config, policy, step, baseChains, warmStart, alarms } = state;
  const { role } = position;
  const updates = step + 1 - (warmStart?.steps ?? 0);
  const policies = policiesAfter(state, role);
  const evaluation = { ...evaluationBatch(config, 'validation'), greedy: false, base: baseChains.validation, policies };
  return {
    run,
    role,
    position,
    state: policy[role],
    alarms,
    step: step + 1,
    learningRate: config.ppo.learningRate * learningRateFactor(updates, countSteps(config), config.ppo),
    ...(endsEpoch(planOf(state), state.next) && { evaluation }),
  };
}

/** The adapters of both roles after this step, without the adapter that the step will train. */
function policiesAfter({ policy, config }: RunState, trained: Role) {
  const policyOf = (role: Role): SamplingPolicy => {
    const { adapter, ...frozen } = samplingPolicy(policy[role]);
    return role === trained || config.mode === 'unified' ? frozen : { adapter, ...frozen };
  };
  return { generator: policyOf('generator'), discriminator: policyOf('discriminator') };
}

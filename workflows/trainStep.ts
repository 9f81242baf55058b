// One policy update of one role: sample, write tests, judge, and train. Training includes rewards, advantages and PPO.
import { addUsage, NO_USAGE, type Usage } from '../core/budget.js';
import { learningRateFactor } from '../core/rl/schedules.js';
import { countSteps, endsEpoch, type PlannedStep, planOf, stepsLeft } from '../core/schedule.js';
import type { Role, Stage } from '../core/schema/chain.js';
import { type Call, usageOf } from '../method/activities.js';
import { discriminatorRollout, generatorRollout, samplingPolicy } from '../method/rollouts.js';
import type { Position, SamplingPolicy } from '../method/types.js';
import { StepSkipped } from './call.js';
import { advance, evaluationBatch } from './evaluation.js';
import { recordAndApply } from './requests.js';
import { modelCall, type RunContext, type RunState, type StepResult, withTrained } from './runState.js';
import { warmStartStep } from './warmStart.js';

const ROLLOUTS = { generator: generatorRollout, discriminator: discriminatorRollout };

/** Trains the role of the planned step. If a person decides to skip the step, only what it used is kept. */
export async function trainStep(context: RunContext, state: RunState, planned: PlannedStep): Promise<RunState> {
  const { phase, epoch, role, step } = planned;
  const place = state.stage === 0 ? '' : `stage ${state.stage} · `;
  const label = `${place}step ${step} · ${phase === role ? role : `${phase} · ${role}`}`;
  const meter = new Meter(modelCall(context, state, label));
  context.onProgress({ stage: state.stage, phase, epoch });
  try {
    const { changes, used, evaluation, progress } =
      phase === 'warm-start'
        ? await warmStartStep(meter.call, state, planned)
        : await policyStep(meter, state, planned);
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
  } catch (error) {
    if (!(error instanceof StepSkipped)) throw error;
    return recordAndApply(context, state, { action: 'skip', reason: error.reason, spent: meter.used });
  }
}

async function policyStep(meter: Meter, state: RunState, planned: PlannedStep): Promise<StepResult> {
  const { role } = planned;
  const position: Position = { stage: state.stage as Stage, ...planned };
  const rollout = await ROLLOUTS[role](meter.call, state, position);
  const { tokens: sampledTokens, seconds: rolloutSeconds, executions } = meter.used;
  const trained = await meter.call('trainPolicy', {
    ...rollout,
    ...trainingInput(state, position),
    sampledTokens,
    generationSeconds: meter.generationSeconds,
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

/** Adds up what calls use. */
class Meter {
  used: Usage = NO_USAGE;
  generationSeconds = 0; // of activities that sample tokens

  constructor(private readonly inner: Call) {}

  readonly call: Call = async (name, input) => {
    const output = await this.inner(name, input);
    const usage = usageOf(output);
    this.used = addUsage(this.used, usage);
    if (usage.tokens > 0) this.generationSeconds += usage.seconds;
    return output;
  };
}

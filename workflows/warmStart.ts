// The warm start: supervised steps of each role before the first stage. The generator learns reference solutions, the
// discriminator tests whose expected values the references computed.
import { type PlannedStep, planOf } from '../core/run/schedule.js';
import { countWarmStartStep, warmStartResult } from '../core/run/warmStart.js';
import type { Role } from '../core/schema/chain.js';
import { checkpointName } from '../core/schema/checkpoint.js';
import type { EvaluationRates } from '../core/schema/run.js';
import type { Call } from '../method/activity.js';
import { answerFreshInputs, trainOnExamples } from '../method/warmStart.js';
import { evaluate } from './evaluation.js';
import { type RunContext, type RunState, type StepResult, withTrained } from './runState.js';

export async function warmStartStep(call: Call, state: RunState, planned: PlannedStep): Promise<StepResult> {
  const { run, config, policy, warmStart = { steps: 0, best: {} } } = state;
  const { role } = planned;
  const needsTests = warmStart.tests === undefined && role === 'discriminator';
  const tests = needsTests ? (await call(answerFreshInputs, { run })).tests : warmStart.tests;
  const stepsOfRole = planOf(state).filter((each, i) => i <= state.next && each.role === role);
  const trained = await call(trainOnExamples, {
    run,
    role,
    position: { stage: 0, ...planned },
    state: policy[role],
    step: state.step + 1,
    learningRate: config.warmStart.learningRate,
    tests,
    examplesOfStep: stepsOfRole.length,
  });
  const result = { loss: trained.loss, adapter: trained.state.adapter };
  const counted = countWarmStartStep(state, { ...warmStart, tests }, role, result);
  return { changes: withBest({ ...state, policy: withTrained(state, role, trained.state), ...counted }, role) };
}

/** After the last warm-start step of a role, done or skipped, the role gets its best adapter and a new optimizer. */
export function withBest(state: RunState, role: Role): RunState {
  const best = warmStartResult(state, role);
  if (best === undefined) return state;
  const { optimizer } = state.best.policy[role];
  return { ...state, policy: withTrained(state, role, { ...state.policy[role], adapter: best.adapter, optimizer }) };
}

/** Evaluates the policy after the warm start on the test split. From now on, evaluations write tests for this policy's chains. */
export async function finishWarmStart(context: RunContext, state: RunState): Promise<RunState> {
  const { step, policy, warmStart, baseChains } = state;
  if (warmStart === undefined || state.stopped !== undefined) return state;
  context.onProgress({ state: 'evaluating' });
  const target = { split: 'test', step, checkpoint: checkpointName(0, 1) } as const;
  const { chains, verdict } = await evaluate(context, state, { target, policy, greedy: true });
  const { rates } = await verdict;
  context.onProgress({ state: 'training' });
  return {
    ...state,
    warmStart: { ...warmStart, rates: rates as EvaluationRates },
    baseChains: { ...baseChains, test: chains },
  };
}

// The warm start: supervised steps of each role before the first stage, on reference solutions and on tests whose expected
// values the references computed. A role stops early if its validation loss no longer falls, and keeps its best adapter.
// If the validation split gives no example, it keeps the latest one.
import { type PlannedStep, planOf } from '../core/schedule.js';
import type { Role } from '../core/schema/chain.js';
import { checkpointName } from '../core/schema/checkpoint.js';
import type { EvaluationRates } from '../core/schema/run.js';
import type { Call } from '../method/activities.js';
import { evaluate } from './evaluation.js';
import { type RunContext, type RunState, type StepResult, withTrained } from './runState.js';

export async function warmStartStep(call: Call, state: RunState, planned: PlannedStep): Promise<StepResult> {
  const { run, config, policy, warmStart = { steps: 0, best: {} } } = state;
  const { role } = planned;
  const answered =
    warmStart.tests === undefined && role === 'discriminator' && (await call('answerFreshInputs', { run }));
  const tests = answered ? answered.tests : warmStart.tests;
  const plan = planOf(state);
  const {
    state: trained,
    loss,
    seconds,
  } = await call('trainOnExamples', {
    run,
    role,
    position: { stage: 0, ...planned },
    state: policy[role],
    step: state.step + 1,
    learningRate: config.warmStart.learningRate,
    tests,
    examplesOfStep: plan.slice(0, state.next + 1).filter((each) => each.role === role).length,
  });
  const before = warmStart.best[role];
  const isBetter = before?.loss === undefined || loss === undefined || loss < before.loss;
  const best = isBetter ? { loss, adapter: trained.adapter, stale: 0 } : { ...before, stale: before.stale + 1 };
  const isStale = best.stale >= config.warmStart.patience;
  const left = isStale ? plan.filter((each, i) => i <= state.next || each.role !== role) : plan;
  const changed: RunState = {
    ...state,
    policy: withTrained(state, role, trained),
    ...(left.length < plan.length && { plan: left }),
    warmStart: { ...warmStart, tests, steps: warmStart.steps + 1, best: { ...warmStart.best, [role]: best } },
  };
  const first = answered || { seconds: 0, executions: 0 };
  return {
    changes: withBest(changed, role),
    used: { tokens: 0, seconds: first.seconds + seconds, executions: first.executions },
  };
}

/** After the last warm-start step of a role, done or skipped, the role gets its best adapter and a new optimizer. */
export function withBest(state: RunState, role: Role): RunState {
  const best = state.warmStart?.best[role];
  const isLast = !planOf(state).some((each, i) => i > state.next && each.role === role);
  if (state.stage !== 0 || !isLast || best === undefined) return state;
  const { optimizer } = state.best.policy[role];
  return { ...state, policy: withTrained(state, role, { ...state.policy[role], adapter: best.adapter, optimizer }) };
}

/** Evaluates the result on the test split. From now on, the tests of evaluations are written for its chains. */
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

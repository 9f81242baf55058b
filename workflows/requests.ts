// Applies what people requested since the last step, and ends a run that is out of budget. Each request is recorded with
// its position. A run that is started again applies its recorded requests at the same positions.
import { addUsage, exhaustedBudget, NO_USAGE } from '../core/run/budget.js';
import { isRecordedAt } from '../core/run/control.js';
import { endsEpoch, nextStep, planOf, replan } from '../core/run/schedule.js';
import type { ControlMetrics } from '../core/schema/metrics.js';
import { reviseRun } from '../method/prepare.js';
import { recordMetrics } from '../method/records.js';
import { advance, closeCurrentEpoch, settleEvaluation } from './evaluation.js';
import { StepSkipped } from './failures.js';
import type { RunContext, RunState } from './runState.js';
import { withBest } from './warmStart.js';

type Action = Pick<ControlMetrics, 'action' | 'fields' | 'reason' | 'spent'>;

export async function applyRequests(context: RunContext, before: RunState): Promise<RunState> {
  const { requests, onProgress, waitForRequest } = context;
  let state = context.evaluation?.failed ? await settleEvaluation(context, before) : before; // throws the failure of the evaluation
  let isResting = false;
  while (state.stopped === undefined) {
    const record = state.recordedRequests.find((each) => isRecordedAt(each, state));
    const request = record === undefined ? requests.take() : undefined;
    if (record !== undefined) {
      const later = state.recordedRequests.filter((each) => each !== record);
      state = await applyAction(context, { ...state, recordedRequests: later }, record);
    } else if (request !== undefined) {
      const { kind, at, ...fields } = request;
      state = await recordAndApply(context, state, { action: kind, ...fields }, at);
    } else if (requests.isPaused) {
      state = await settleEvaluation(context, state); // a paused run has all its checkpoints
      if (!isResting) onProgress({ state: 'paused' });
      isResting = true;
      await waitForRequest();
    } else break;
  }
  if (isResting) onProgress({ state: 'training' });
  return stopIfOverBudget(context, state);
}

/** Handles the failure of a step. If a person decided to skip the step, its usage is kept and nothing else. */
export const skipStep =
  (context: RunContext, state: RunState) =>
  async (error: unknown): Promise<RunState> => {
    if (!(error instanceof StepSkipped)) throw error;
    return recordAndApply(context, state, { action: 'skip', reason: error.reason, spent: error.spent });
  };

async function recordAndApply(
  context: RunContext,
  state: RunState,
  action: Action,
  at = context.now(),
): Promise<RunState> {
  const { run, step, next, records } = state;
  const stage = state.stage as ControlMetrics['stage'];
  const metrics: ControlMetrics = { kind: 'control', step, index: records, stage, next, ...action, at };
  await context.call()(recordMetrics, { run, metrics });
  return applyAction(context, { ...state, records: records + 1 }, action);
}

async function applyAction(context: RunContext, state: RunState, action: Action): Promise<RunState> {
  const { reason, fields = {}, spent = NO_USAGE } = action;
  switch (action.action) {
    case 'change':
      return changeConfig(context, state, fields);
    case 'skip':
      return advance(context, {
        ...withBest(state, planOf(state)[state.next]!.role),
        used: addUsage(state.used, spent),
      });
    case 'stop':
    case 'budget':
      return stop(context, state, reason ?? 'stop requested');
    default:
      return state; // the queue knows whether the run is paused
  }
}

/** Applies a change. The steps done stay in the plan. If the change ends the current epoch, its checkpoint is written. */
async function changeConfig(context: RunContext, state: RunState, fields: Record<string, unknown>): Promise<RunState> {
  const plan = planOf(state);
  const last = state.next - 1;
  const { run, config } = await context.call()(reviseRun, { run: state.run, config: state.config, fields });
  const revised =
    fields.schedule === undefined || state.stage === 0
      ? state.plan
      : replan(plan.slice(0, state.next), config, endsEpoch(plan, last));
  const changed: RunState = { ...state, run, config, plan: revised };
  context.onConfig(changed);
  const endedNow = !endsEpoch(plan, last) && endsEpoch(planOf(changed), last);
  return endedNow ? closeCurrentEpoch(context, changed) : changed;
}

async function stopIfOverBudget(context: RunContext, state: RunState): Promise<RunState> {
  const step = nextStep(state);
  if (step === undefined) return state;
  const reason = exhaustedBudget(state.config.budget, state.used, state.latestUsage[step.role] ?? NO_USAGE);
  if (reason === undefined) return state;
  context.requests.close(); // no request may come between this decision and its record
  return recordAndApply(context, state, { action: 'budget', reason });
}

/** Ends the run. An epoch that has begun gets its checkpoint, so that no step is lost. */
async function stop(context: RunContext, state: RunState, reason: string): Promise<RunState> {
  context.requests.close();
  const isMidEpoch = state.next > 0 && !endsEpoch(planOf(state), state.next - 1);
  const closed = isMidEpoch ? await closeCurrentEpoch(context, state) : state;
  return { ...closed, stopped: reason };
}

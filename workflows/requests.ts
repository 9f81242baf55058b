// Applies what people requested since the last step, and ends a run that is out of budget. Each applied request is
// recorded with its position, so that a run that is started again applies it at the same position.
import { addUsage, exhaustedBudget, NO_USAGE } from '../core/budget.js';
import { isRecordedAt, type Request } from '../core/control.js';
import { endsEpoch, replan } from '../core/schedule.js';
import type { ControlMetrics } from '../core/schema/metrics.js';
import { advance, closeCurrentEpoch, settleEvaluation } from './evaluation.js';
import { nextStep, planOf, type RunContext, type RunState } from './runState.js';

export async function applyRequests(context: RunContext, before: RunState): Promise<RunState> {
  const { requests: queue, onProgress } = context.hooks;
  if (context.evaluation?.failed) await settleEvaluation(context, before); // throws
  let state = await replayRecords(context, before);
  let isResting = false;
  while (state.stopped === undefined) {
    const request = queue?.take();
    if (request !== undefined) {
      state = await applyRequest(context, state, request);
    } else if (queue?.isPaused?.() && queue.waitForRequest) {
      state = await settleEvaluation(context, state); // a paused run has all its checkpoints
      if (!isResting) onProgress?.({ state: 'paused' });
      isResting = true;
      await queue.waitForRequest();
    } else break;
  }
  if (isResting) onProgress?.({ state: 'training' });
  return stopIfOverBudget(context, state);
}

/** Applies what an earlier execution of this run recorded at this position. It is not recorded again. */
async function replayRecords(context: RunContext, before: RunState): Promise<RunState> {
  let state = before;
  for (
    let [record] = state.recordedRequests;
    record && isRecordedAt(record, state);
    [record] = state.recordedRequests
  ) {
    state = { ...state, recordedRequests: state.recordedRequests.slice(1) };
    if (record.action === 'change') state = await changeConfig(context, state, record.fields ?? {});
    if (record.action === 'skip') {
      state = await advance(context, { ...state, used: addUsage(state.used, record.spent ?? NO_USAGE) });
    }
    if (record.action === 'stop' || record.action === 'budget') {
      return stop(context, state, record.reason ?? record.action);
    }
  }
  return state;
}

async function applyRequest(context: RunContext, state: RunState, request: Request): Promise<RunState> {
  const { kind, at } = request;
  if (kind === 'change') {
    const changed = await changeConfig(context, state, request.fields);
    return recordRequest(context, changed, { action: kind, fields: request.fields, at });
  }
  if (kind !== 'stop') return recordRequest(context, state, { action: kind, at });
  const reason = 'stop requested';
  return stop(context, await recordRequest(context, state, { action: kind, reason, at }), reason);
}

/** The plan of the steps done stays as it was. If the change ends the current epoch, its checkpoint is written. */
async function changeConfig(context: RunContext, state: RunState, fields: Record<string, unknown>): Promise<RunState> {
  const plan = planOf(state);
  const last = state.next - 1;
  const { run, config } = await context.activities.reviseRun({ run: state.run, config: state.config, fields });
  const revised =
    fields.schedule === undefined ? state.plan : replan(plan.slice(0, state.next), config, endsEpoch(plan, last));
  const changed: RunState = { ...state, run, config, plan: revised };
  context.hooks.onConfig?.(changed);
  const endedNow = !endsEpoch(plan, last) && endsEpoch(planOf(changed), last);
  return endedNow ? closeCurrentEpoch(context, changed) : changed;
}

async function stopIfOverBudget(context: RunContext, state: RunState): Promise<RunState> {
  const step = nextStep(state);
  if (step === undefined) return state;
  const reason = exhaustedBudget(state.config.budget, state.used, state.latestUsage[step.role] ?? NO_USAGE);
  if (reason === undefined) return state;
  return stop(context, await recordRequest(context, state, { action: 'budget', reason }), reason);
}

/** Ends the run. An epoch that has begun gets its checkpoint, so that no step is lost. */
async function stop(context: RunContext, state: RunState, reason: string): Promise<RunState> {
  const isMidEpoch = state.next > 0 && !endsEpoch(planOf(state), state.next - 1);
  const closed = isMidEpoch ? await closeCurrentEpoch(context, state) : state;
  return { ...closed, stopped: reason };
}

type RequestRecord = Pick<ControlMetrics, 'action' | 'fields' | 'reason' | 'spent'> & { at?: string };

/** Writes a control record at the current position. */
export async function recordRequest(context: RunContext, state: RunState, record: RequestRecord): Promise<RunState> {
  const { run, step, stage, next, records } = state;
  const at = record.at ?? context.hooks.now?.() ?? new Date().toISOString();
  const position = { step, index: records, stage: stage as ControlMetrics['stage'], next };
  await context.activities.recordMetrics({ run, metrics: { kind: 'control', ...position, ...record, at } });
  return { ...state, records: records + 1 };
}

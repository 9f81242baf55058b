// What `gauntlet resume` does with a run in each state. Finished work is never lost: it is in the store.
import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import proto, { type temporal } from '@temporalio/proto';
import { GauntletError } from '../../core/base/errors.js';
import type { Decision } from '../../core/run/control.js';
import type { Store } from '../../store/store.js';
import { commandLine } from '../terminal/commandLine.js';
import { checkIsRun, describeExecution, heldActivities, inWords, isOpen, unpause } from './executions.js';
import { hasPollers, noWorker, type Session } from './session.js';
import { storedRun } from './stored.js';
import { inputOf, type Joined, startOrJoin } from './training.js';
import { sendUpdate } from './updates.js';
import { queryProgress } from './watch.js';

export interface Resumed {
  joined: Joined;
  said: string; // what was done, as the end of a sentence that begins with "run 'id' "
}

type Resuming = Pick<Session, 'client' | 'workers'> & { store: Store };
type History = temporal.api.history.v1.IHistory;
type EventId = NonNullable<temporal.api.history.v1.IHistoryEvent['eventId']>;

const STARTED_AGAIN = 'started again from the store; finished work is not repeated';

/**
 * @param decision what to do about a failed activity that the run waits for; otherwise it must be 'retry'
 * @throws GauntletError NOT_FOUND | BAD_INPUT | SERVER_UNAVAILABLE
 */
export async function resumeRun(session: Resuming, id: string, decision: Decision = 'retry'): Promise<Resumed> {
  const { client } = session;
  const found = await describeExecution(client, id);
  if (found === undefined) return resumeFromStore(session, id, decision);
  checkIsRun(found, 'resume');
  if (isOpen(found)) return resumeOpen(session, found, decision);
  const status = inWords(found.status.name);
  if (decision !== 'retry') throw new GauntletError('BAD_INPUT', `run '${id}' is ${status}: it needs no decision`);
  const joined = { handle: client.workflow.getHandle(id), how: 'finished' } as const;
  if (status === 'completed') return { joined, said: 'has finished; nothing to do' };
  const { said, ...resumed } = await resumeClosed(client, id, found.runId);
  return { ...resumed, said: `was ${status}: ${said}` };
}

/** Resumes a run that the server has forgotten, or that ran on another server. */
async function resumeFromStore({ client, store }: Resuming, id: string, decision: Decision): Promise<Resumed> {
  const stored = await storedRun(store, id);
  if (stored === undefined) {
    const places = `on this server or in ${store.locate('')}`;
    throw new GauntletError('NOT_FOUND', `no run '${id}' ${places}; list runs with: ${commandLine('status')}`);
  }
  if (decision !== 'retry') {
    throw new GauntletError('BAD_INPUT', `run '${id}' needs no decision: the server does not know it any more`);
  }
  const { steps, input, result } = stored;
  if (result !== undefined) {
    const joined = { handle: client.workflow.getHandle(id), how: 'finished', result } as const;
    return { joined, said: 'has finished; nothing to do' };
  }
  if (input === undefined) {
    const hint = `start it with its configuration: ${commandLine(`train ${id}`)}`;
    throw new GauntletError(
      'NOT_FOUND',
      `run '${id}' was never prepared, so the store does not have its input; ${hint}`,
    );
  }
  const joined = await startOrJoin(client, id, input);
  return { joined, said: `is not on this server: ${STARTED_AGAIN} (steps done: ${steps})` };
}

async function resumeOpen(
  session: Resuming,
  found: WorkflowExecutionDescription,
  decision: Decision,
): Promise<Resumed> {
  const { client } = session;
  const { workflowId: id } = found;
  const handle = client.workflow.getHandle(id);
  const joined = { handle, how: 'joined' } as const;
  const paused = (await heldActivities(client, found)).filter((held) => held.paused);
  for (const held of paused) await unpause(client, id, held);
  if (session.workers === undefined && !(await hasPollers(client))) {
    if (decision !== 'retry') throw noWorker();
    return { joined, said: 'continues as soon as a worker serves it' };
  }
  const mismatch = (await failsTasks(client, id)) ? await historyMismatch(await handle.fetchHistory(), id) : undefined;
  if (mismatch !== undefined) return replaceStuck(client, id, decision, mismatch);
  const progress = await queryProgress(handle);
  if (progress?.state === 'waiting') {
    const { activity } = progress.failure!;
    await sendUpdate(handle, { name: 'decide', decision });
    const done = { retry: `runs ${activity} again`, skip: `skips the step of ${activity}`, abort: 'ends' };
    return { joined, said: done[decision] };
  }
  if (decision !== 'retry') throw new GauntletError('BAD_INPUT', `run '${id}' needs no decision: nothing failed`);
  if (progress?.state === 'paused') {
    await sendUpdate(handle, { name: 'resume' });
    return { joined, said: 'continues after its pause' };
  }
  const names = [...new Set(paused.map(({ activity }) => activity?.type ?? 'the run'))].join(', ');
  return { joined, said: names === '' ? 'is running' : `continues: ${names} was paused on the server` };
}

/** Ends a running execution that the current workflow code cannot replay. Starts the run again, unless it is aborted. */
async function replaceStuck(client: Client, id: string, decision: Decision, mismatch: string): Promise<Resumed> {
  if (decision === 'skip') {
    throw new GauntletError('BAD_INPUT', `run '${id}' cannot process requests (${mismatch}): resume it without --skip`);
  }
  const handle = client.workflow.getHandle(id);
  const input = await inputOf(client, id);
  await handle.terminate(`gauntlet resume: ${mismatch}`).catch((error: unknown) => {
    if (!(error instanceof WorkflowNotFoundError)) throw error; // otherwise the run has just ended
  });
  if (decision === 'abort') return { joined: { handle, how: 'joined' }, said: `ends: ${mismatch}` };
  const joined = await startOrJoin(client, id, input);
  return { joined, said: `could not continue (${mismatch}): ${STARTED_AGAIN}` };
}

/**
 * Resets the latest execution to the work that did not end well. The new execution keeps everything before it, with all
 * requests. If the history does not fit the current code, the run is started again and fast-forwards through the store.
 */
async function resumeClosed(client: Client, id: string, runId: string): Promise<Resumed> {
  const history = await client.workflow.getHandle(id, runId).fetchHistory();
  const point = (await historyMismatch(history, id)) === undefined ? resetPoint(history) : undefined;
  if (point === undefined) {
    return { joined: await startOrJoin(client, id, await inputOf(client, id)), said: STARTED_AGAIN };
  }
  await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId: id, runId },
    workflowTaskFinishEventId: point,
    // requests that the run accepted are applied again
    resetReapplyType: proto.temporal.api.enums.v1.ResetReapplyType.RESET_REAPPLY_TYPE_ALL_ELIGIBLE,
    reason: 'gauntlet resume',
    identity: client.options.identity,
    requestId: `gauntlet-resume-${runId}`, // a second command at the same time resets nothing
  });
  return { joined: { handle: client.workflow.getHandle(id), how: 'restarted' }, said: 'continues where it ended' };
}

/**
 * Finds the workflow task that must be done again: the one that scheduled the first activity that the run needs and that has no
 * result, else the last one before a cancellation, else the last one. Undefined if there is none. After a reset to a later task,
 * Temporal may forget an activity that was running: it neither starts nor times out.
 */
export function resetPoint({ events }: History): EventId | undefined {
  const all = events ?? [];
  const cancelled = all.findIndex((event) => event.workflowExecutionCancelRequestedEventAttributes);
  const before = cancelled === -1 ? all : all.slice(0, cancelled);
  const ended = new Set(before.flatMap((event) => ENDS.map((field) => Number(event[field]?.scheduledEventId))));
  let cause = all.at(-1)?.workflowExecutionFailedEventAttributes?.failure;
  while (cause && !cause.activityFailureInfo) cause = cause.cause;
  ended.delete(Number(cause?.activityFailureInfo?.scheduledEventId));
  const open = before.find((event) => event.activityTaskScheduledEventAttributes && !ended.has(Number(event.eventId)));
  const scheduledBy = open?.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId;
  return scheduledBy ?? before.findLast((event) => event.workflowTaskCompletedEventAttributes)?.eventId ?? undefined;
}

const ENDS = (['Completed', 'Failed', 'TimedOut', 'Canceled'] as const).map(
  (end) => `activityTask${end}EventAttributes` as const,
);

/** Says why the current workflow code cannot replay a history; undefined if it can. */
async function historyMismatch(history: History, id: string): Promise<string | undefined> {
  const { replayError } = await import('./replayHistory.js');
  const error = await replayError(history, id);
  return error && `its history does not match this version: ${error}`;
}

/** True if a workflow task of the run failed before, or fails when the run is asked something. */
async function failsTasks(client: Client, id: string): Promise<boolean> {
  const handle = client.workflow.getHandle(id);
  const { raw } = await handle.describe();
  if ((raw.pendingWorkflowTask?.attempt ?? 1) > 1) return true;
  return handle.query('__temporal_workflow_metadata').then(
    () => false,
    (error: Error) => /TMPRL1100|nondeterminis/i.test(error.message),
  );
}

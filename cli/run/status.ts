// The state of a run, as the server and the store know it.
import type { Client, WorkflowExecutionDescription, WorkflowExecutionInfo } from '@temporalio/client';
import { GauntletError } from '../../core/base/errors.js';
import type { RecordedWarning } from '../../core/run/answerShares.js';
import type { EnvironmentRecord } from '../../core/schema/environment.js';
import { type RunProgress, type RunResult, runResultSchema } from '../../core/schema/run.js';
import { readAttention } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import type { trainFullPipeline } from '../../workflows/trainFullPipeline.js';
import { commandLine } from '../terminal/commandLine.js';
import { describeError, type Output } from '../terminal/output.js';
import { checkIsRun, describeExecution, type Held, heldActivities, isOpen } from './executions.js';
import { hasPollers, type Session } from './session.js';
import { storedRun } from './stored.js';
import { follow, type TrainingHandle } from './training.js';
import { queryProgress } from './watch.js';

export const STORED = 'ONLY IN THE STORE'; // the server does not know the run, or no server runs

export interface RunStatus {
  id: string;
  status: string;
  held?: Held[]; // activities that are paused on the server or being retried
  environments?: EnvironmentRecord[]; // the environments in which the run has worked
  steps?: number; // only known for a run that only the store knows
  progress?: RunProgress; // only known while the run goes on and a worker answers
  attention?: RunProgress; // what the store knows of a run that waits or has failed, if the progress is unknown
  warnings?: RecordedWarning[]; // recorded warnings, if the progress is unknown
  result?: RunResult;
  failure?: string;
}

/** Whether a running run waits for a person, as far as the server knows the search attributes. */
export function heldState({ status, searchAttributes }: WorkflowExecutionInfo): 'paused' | 'waiting' | undefined {
  const [state] = (searchAttributes.GauntletState ?? []) as string[];
  return status.name === 'RUNNING' && (state === 'paused' || state === 'waiting') ? state : undefined;
}

/** What the store knows of a run that waits or has failed. Undefined if the server knows that this is over. */
export async function needOf(store: Store, id: string, status: string): Promise<RunProgress | undefined> {
  const need = await readAttention(store, id);
  return status === STORED || status === (need?.state === 'failed' ? 'FAILED' : 'RUNNING') ? need : undefined;
}

/** @param watch follows a running run first. @returns undefined if Ctrl-C ended the watch */
export async function statusOfRun(
  id: string,
  store: Store,
  session: Session | undefined,
  watch?: Output,
): Promise<RunStatus | undefined> {
  const found = session && (await describeExecution(session.client, id));
  if (session === undefined || found === undefined) {
    const stored = await storedRun(store, id);
    if (stored === undefined) {
      const place = store.locate('');
      const where = session ? `on this server, nor in ${place}` : `in ${place}`;
      const other = session ? '' : ` (its server may know it: start it with ${commandLine('up')})`;
      throw new GauntletError(
        'NOT_FOUND',
        `no run '${id}' ${where}${other}; list the runs with: ${commandLine('status')}`,
      );
    }
    const { steps, result } = stored;
    return { id, status: STORED, steps, result, attention: await needOf(store, id, STORED) };
  }
  checkIsRun(found, 'status');
  const { client } = session;
  const handle = client.workflow.getHandle<typeof trainFullPipeline>(id);
  let execution = found;
  if (watch && found.status.name === 'RUNNING') {
    if (!(await hasPollers(client)))
      watch.note(`no worker serves the run: start one with ${commandLine(`resume ${id} --watch`)}`);
    if ((await follow(session, handle, watch, commandLine(`status ${id} --watch`))) === undefined) return undefined;
    execution = (await describeExecution(client, id)) ?? found;
  }
  return currentStatus(client, store, handle, execution);
}

async function currentStatus(
  client: Client,
  store: Store,
  handle: TrainingHandle,
  execution: WorkflowExecutionDescription,
): Promise<RunStatus> {
  const id = handle.workflowId;
  const status = execution.status.name;
  if (isOpen(execution)) {
    const held = await heldActivities(client, execution);
    const served = status === 'RUNNING' && (await hasPollers(client)); // without a worker the query would time out
    const progress = served ? await queryProgress(handle) : undefined;
    const attention = progress === undefined ? await needOf(store, id, status) : undefined;
    return { id, status, ...(held.length > 0 && { held }), progress, attention };
  }
  try {
    return { id, status, result: runResultSchema.parse(await handle.result()) };
  } catch (error) {
    return { id, status, failure: describeError(error) };
  }
}

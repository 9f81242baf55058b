// Requests to a running run, as Temporal updates of its workflow.
import { type WorkflowHandle, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { GauntletError } from '../../core/base/errors.js';
import { applyConfigPatch } from '../../core/config/liveConfig.js';
import { resolveConfig } from '../../core/config/presets.js';
import type { Decision } from '../../core/run/control.js';
import { openStore } from '../../store/openStore.js';
import { parseAssignments } from '../input/config.js';
import { commandLine } from '../terminal/commandLine.js';
import { note } from '../terminal/output.js';
import { inWords } from './executions.js';
import { hasPollers, hasServer, noWorker, type Session, statusOf } from './session.js';

/** The updates of trainFullPipeline. */
export type Update =
  | { name: 'pause' | 'resume' | 'stop' }
  | { name: 'change'; fields: Record<string, unknown> }
  | { name: 'decide'; decision: Decision };

const NO_ANSWER_MS = 10_000; // the server lists a worker that died for up to a minute

/** @returns what will happen, in one line. @throws GauntletError BAD_INPUT if the run refuses the update */
export async function sendUpdate(handle: WorkflowHandle, update: Update): Promise<string> {
  const warning = `no worker has answered for ${NO_ANSWER_MS / 1000} s; the run gets the request when a worker serves it (start one with ${commandLine('up')})`;
  const timer = setTimeout(note, NO_ANSWER_MS, warning);
  const args = update.name === 'change' ? [update.fields] : update.name === 'decide' ? [update.decision] : [];
  try {
    return await handle.executeUpdate<string, [unknown]>(update.name, { args: args as [unknown] });
  } catch (error) {
    if (!(error instanceof WorkflowUpdateFailedError)) throw error;
    const { message } = error.cause instanceof Error ? error.cause : error;
    throw new GauntletError('BAD_INPUT', message.split('\n')[0]!);
  } finally {
    clearTimeout(timer);
  }
}

/** @throws GauntletError SERVER_UNAVAILABLE if no server runs. Without this check, a session would start one. */
export function checkServer(store: string): void {
  if (hasServer(store)) return;
  throw new GauntletError(
    'SERVER_UNAVAILABLE',
    `no Temporal server runs for this store: start one with ${commandLine('up')}`,
  );
}

/** @returns what will happen, in one line. @throws GauntletError NOT_FOUND | BAD_INPUT | SERVER_UNAVAILABLE */
export async function updateRun(session: Session, id: string, update: Update): Promise<string> {
  try {
    return await sendUpdate(await servedRun(session, id), update);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw new GauntletError('NOT_FOUND', `run '${id}' has just ended`);
    throw error;
  }
}

/** Finds a running run that a worker serves. @throws GauntletError NOT_FOUND | BAD_INPUT | SERVER_UNAVAILABLE */
async function servedRun({ client, store }: Session, id: string): Promise<WorkflowHandle> {
  const status = await statusOf(client, id);
  const resume = commandLine(`resume ${id}`);
  if (status === undefined) {
    const isStored = (await (await openStore(store)).listRuns()).includes(id);
    const hint = isStored
      ? `it is only in the store: continue it with ${resume}`
      : `list runs with: ${commandLine('status')}`;
    throw new GauntletError('NOT_FOUND', `no run '${id}' on this server; ${hint}`);
  }
  if (status === 'PAUSED') {
    throw new GauntletError('BAD_INPUT', `run '${id}' is paused on the server; continue it first: ${resume}`);
  }
  if (status !== 'RUNNING') {
    const hint = status === 'COMPLETED' ? '' : `; continue it with: ${resume}`;
    throw new GauntletError('BAD_INPUT', `run '${id}' is ${inWords(status)}${hint}`);
  }
  if (!(await hasPollers(client))) throw noWorker();
  return client.workflow.getHandle(id);
}

/** Makes the update `change` from assignments 'field=value'. @throws GauntletError BAD_CONFIG, even if no worker runs */
export function changeOf(assignments: string[]): Update {
  const fields = parseAssignments(assignments, '');
  applyConfigPatch(resolveConfig(), fields);
  return { name: 'change', fields };
}

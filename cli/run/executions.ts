// What the server knows about a run and the run itself does not: what is paused there, and what is being retried.
import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { ERROR_CODES, type ErrorCode, GauntletError } from '../../core/base/errors.js';
import { commandLine } from '../terminal/commandLine.js';

const UNIMPLEMENTED = 12; // gRPC
const CLAIM = 'claimModelWorker'; // its retries are how a run waits for a free worker

export async function describeExecution(client: Client, id: string): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await client.workflow.getHandle(id).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** @throws GauntletError BAD_INPUT if the workflow is not a training run */
export function checkIsRun({ workflowId: id, type }: { workflowId: string; type: string }, command: string): void {
  if (type === 'trainFullPipeline') return;
  throw new GauntletError(
    'BAD_INPUT',
    `'${id}' is not a training run but a ${type}: name a run, as in ${commandLine(`${command} RUN`)}`,
  );
}

export const inWords = (status: string): string => status.toLowerCase().replaceAll('_', ' ');

export const isOpen = ({ status }: Pick<WorkflowExecutionDescription, 'status'>): boolean =>
  status.name === 'RUNNING' || status.name === 'PAUSED';

/** What is paused on the server, or is being retried. */
export interface Held {
  activity?: { type: string; id: string }; // undefined if the whole run is paused
  paused: boolean;
  attempt: number; // the number of the current attempt
  failure?: string; // why the previous attempt failed
}

export async function heldActivities(client: Client, { status, raw }: WorkflowExecutionDescription): Promise<Held[]> {
  const held: Held[] = status.name === 'PAUSED' ? [{ paused: true, attempt: 1 }] : [];
  for (const { activityId, activityType, paused, attempt, lastFailure } of raw.pendingActivities ?? []) {
    if (!paused && ((attempt ?? 1) <= 1 || activityType?.name === CLAIM)) continue;
    const error = await decodeOptionalFailureToOptionalError(client.options.loadedDataConverter, lastFailure);
    if (error instanceof ApplicationFailure && error.type === 'BUSY') continue; // it waits for the worker
    held.push({
      activity: { type: activityType?.name ?? '', id: activityId ?? '' },
      paused: paused === true,
      attempt: attempt ?? 1,
      failure: error && lineOf(error),
    });
  }
  return held;
}

function lineOf(error: Error): string {
  const line = error.message.split('\n')[0]!;
  const type = error instanceof ApplicationFailure ? error.type : undefined;
  const help = type === undefined ? undefined : ERROR_CODES[type as ErrorCode]?.help;
  return [type, line, help].filter(Boolean).join(': ');
}

/** Describes a paused or retried activity in one line. */
export function heldText(run: string, { activity, paused, attempt, failure }: Held): string {
  const name = activity?.type ?? 'the run';
  if (paused) return `${name} is paused on the server; continue with: ${commandLine(`resume ${run}`)}`;
  return `${name} is being retried (attempt ${attempt})${failure === undefined ? '' : `: ${failure}`}`;
}

/** @throws GauntletError BAD_INPUT if the server cannot end the pause */
export async function unpause(client: Client, run: string, { activity }: Held): Promise<void> {
  const { namespace, identity } = client.options;
  const { workflowService } = client;
  if (activity) {
    const execution = { workflowId: run };
    await workflowService.unpauseActivity({ namespace, identity, execution, id: activity.id, resetAttempts: true });
    return;
  }
  const request = { namespace, identity, workflowId: run, reason: 'gauntlet resume' };
  await workflowService.unpauseWorkflowExecution(request).catch((error: { code?: number }) => {
    if (error.code !== UNIMPLEMENTED) throw error;
    throw new GauntletError('BAD_INPUT', `'${run}' is paused, and this server cannot end the pause of a workflow`);
  });
}

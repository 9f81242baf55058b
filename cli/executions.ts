// The executions of a run on the server, the run's own and those of its stages: whether one rests or tries something
// again there, which the run itself does not know of.
import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { ERROR_CODES, type ErrorCode, GauntletError } from '../core/errors.js';
import { STAGES } from '../core/schema/chain.js';

const UNIMPLEMENTED = 12; // gRPC

export async function describeExecution(client: Client, id: string): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await client.workflow.getHandle(id).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** A stage, or a workflow of somebody else, is asked for by mistake. @throws GauntletError BAD_INPUT */
export function checkIsRun({ workflowId: id, type }: { workflowId: string; type: string }, command: string): void {
  if (type === 'trainFullPipeline') return;
  const run = id.replace(/\/stage-\d$/, '');
  const hint = run === id ? '' : `: npx gauntlet ${command} ${run}`;
  throw new GauntletError('BAD_INPUT', `'${id}' is no training run but a ${type}${hint}`);
}

export const goesOn = ({ status }: WorkflowExecutionDescription): boolean =>
  status.name === 'RUNNING' || status.name === 'PAUSED';

/** The executions of a run that go on: its own and its stages'. */
export async function openExecutions(client: Client, id: string): Promise<WorkflowExecutionDescription[]> {
  const ids = [id, ...STAGES.map((stage) => `${id}/stage-${stage}`)];
  const found = await Promise.all(ids.map((each) => describeExecution(client, each)));
  return found.filter((each) => each !== undefined).filter(goesOn);
}

export interface Held {
  execution: string; // its id
  activity?: { type: string; id: string }; // absent: the execution as a whole
  paused: boolean; // on the server, by a person or a rule
  attempt: number; // the one at hand, of an activity
  failure?: string; // of the last attempt
}

/** What of a run is paused on the server or is tried again and again. */
export async function heldUp(client: Client, executions: readonly WorkflowExecutionDescription[]): Promise<Held[]> {
  const { loadedDataConverter } = client.options;
  const held: Held[] = [];
  for (const { workflowId: execution, status, raw } of executions) {
    if (status.name === 'PAUSED') held.push({ execution, paused: true, attempt: 1 });
    for (const { activityId, activityType, paused, attempt, lastFailure } of raw.pendingActivities ?? []) {
      if (!paused && (attempt ?? 1) <= 1) continue;
      const error = await decodeOptionalFailureToOptionalError(loadedDataConverter, lastFailure);
      held.push({
        execution,
        activity: { type: activityType?.name ?? '', id: activityId ?? '' },
        paused: paused === true,
        attempt: attempt ?? 1,
        ...(error && { failure: lineOf(error) }),
      });
    }
  }
  return held;
}

function lineOf(error: Error): string {
  const line = error.message.split('\n')[0]!;
  const type = error instanceof ApplicationFailure ? error.type : undefined;
  const help = type === undefined ? undefined : ERROR_CODES[type as ErrorCode]?.help;
  return [type, line, help].filter(Boolean).join(': ');
}

/** For people, how to go on included. */
export function heldText(run: string, { activity, paused, attempt, failure }: Held): string {
  const what = activity?.type ?? 'the run';
  if (paused) return `${what} is paused on the server; go on with: npx gauntlet resume ${run}`;
  return `${what} is being tried again (attempt ${attempt})${failure === undefined ? '' : `: ${failure}`}`;
}

/** @throws GauntletError BAD_INPUT where the server has no way to do it */
export async function unpause(client: Client, { execution, activity }: Held): Promise<void> {
  const { namespace, identity } = client.options;
  const { workflowService } = client;
  if (activity) {
    await workflowService.unpauseActivity({
      ...{ namespace, identity, id: activity.id },
      execution: { workflowId: execution },
      resetAttempts: true,
    });
    return;
  }
  const request = { namespace, identity, workflowId: execution, reason: 'gauntlet resume' };
  await workflowService.unpauseWorkflowExecution(request).catch((error: { code?: number }) => {
    if (error.code !== UNIMPLEMENTED) throw error;
    throw new GauntletError('BAD_INPUT', `'${execution}' is paused on a server that ends no pause by request`);
  });
}

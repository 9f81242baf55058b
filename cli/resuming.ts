// What `gauntlet resume` does with a run, by the state it is in. Nothing finished is lost: a run that is started again
// under its id takes it from the store.
import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import type { Decision } from '../core/control.js';
import { GauntletError } from '../core/errors.js';
import { STAGES } from '../core/schema/chain.js';
import { ask } from './commands/control.js';
import { hasPollers, type Session } from './session.js';
import { inputOf, type Joined, startOrJoin } from './training.js';
import { queryProgress } from './watch.js';

export interface Resumed {
  joined: Joined;
  said: string; // what was done, after "run 'id' "
}

type Resuming = Pick<Session, 'client' | 'workers'>;

const RUN_TYPE = 'trainFullPipeline';
const AGAIN = 'started again under its id: finished work is taken from the store';

/**
 * @param decision of a run that waits; 'retry' also where it does not
 * @throws GauntletError NOT_FOUND | BAD_INPUT | SERVER_UNAVAILABLE
 */
export async function resumeRun(session: Resuming, id: string, decision: Decision = 'retry'): Promise<Resumed> {
  const { client } = session;
  const found = await describe(client, id);
  if (found === undefined) {
    throw new GauntletError('NOT_FOUND', `no run '${id}' on this server; list them with: npx gauntlet status`);
  }
  if (found.type !== RUN_TYPE) {
    const run = id.replace(/\/stage-\d$/, '');
    const hint = run === id ? '' : `: npx gauntlet resume ${run}`;
    throw new GauntletError('BAD_INPUT', `'${id}' is no training run but a ${found.type}${hint}`);
  }
  const status = found.status.name;
  if (status === 'RUNNING' || status === 'PAUSED') return goOn(session, id, decision);
  if (decision !== 'retry') {
    throw new GauntletError('BAD_INPUT', `run '${id}' is ${status.toLowerCase()}: it waits for no decision`);
  }
  const joined = { handle: client.workflow.getHandle(id), how: 'finished' } as const;
  if (status === 'COMPLETED') return { joined, said: 'had finished; nothing to do' };
  return { joined: await again(client, id), said: `was ${status.toLowerCase().replaceAll('_', ' ')}: ${AGAIN}` };
}

async function goOn(session: Resuming, id: string, decision: Decision): Promise<Resumed> {
  const { client } = session;
  const handle = client.workflow.getHandle(id);
  const joined = { handle, how: 'joined' } as const;
  if (session.workers === undefined && !(await hasPollers(client))) {
    if (decision !== 'retry') {
      throw new GauntletError('SERVER_UNAVAILABLE', 'no worker serves runs, so none can hear of it: npx gauntlet up');
    }
    return { joined, said: 'goes on where it was as soon as a worker serves it' };
  }
  for (const execution of [id, ...(await openStages(client, id))]) {
    const stuck = await stuckOn(client, execution);
    if (stuck === undefined) continue;
    if (decision === 'skip') {
      throw new GauntletError('BAD_INPUT', `run '${id}' hears of nothing (${stuck}): resume it without --skip first`);
    }
    await terminate(client, id, `gauntlet resume: ${stuck}`);
    if (decision === 'abort') {
      await endStages(client, id);
      return { joined, said: `ends: ${stuck}` };
    }
    return { joined: await again(client, id), said: `could not go on (${stuck}): terminated and ${AGAIN}` };
  }
  const progress = await queryProgress(handle);
  if (progress?.state === 'waiting') {
    const { activity } = progress.failure!;
    await ask(handle, { name: 'decide', decision });
    const done = { retry: `tries ${activity} again`, skip: `leaves out the step of ${activity}`, abort: 'ends' };
    return { joined, said: done[decision] };
  }
  if (decision !== 'retry') throw new GauntletError('BAD_INPUT', `run '${id}' waits for no decision`);
  if (progress?.state !== 'paused') return { joined, said: 'goes on where it was' };
  await ask(handle, { name: 'resume' });
  return { joined, said: 'goes on after its pause' };
}

/** With its own input; what people asked of it before is in the store. */
async function again(client: Client, id: string): Promise<Joined> {
  const input = await inputOf(client, id);
  await endStages(client, id);
  return startOrJoin(client, id, input);
}

const stageIds = (id: string): string[] => STAGES.map((stage) => `${id}/stage-${stage}`);

async function openStages(client: Client, id: string): Promise<string[]> {
  const found = await Promise.all(stageIds(id).map((stage) => describe(client, stage)));
  return found.flatMap((stage) => (stage?.status.name === 'RUNNING' ? [stage.workflowId] : []));
}

/** A stage that outlives its run was asked to end; one that cannot go on does not hear of it. */
async function endStages(client: Client, id: string): Promise<void> {
  for (const stage of await openStages(client, id)) {
    await terminate(client, stage, `gauntlet resume: run '${id}' ended and is started again`);
  }
}

async function terminate(client: Client, id: string, reason: string): Promise<void> {
  try {
    await client.workflow.getHandle(id).terminate(reason);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error; // it has just ended
  }
}

/**
 * Why an execution does not go on, where it is one that today's workflows cannot replay: a worker has said so, and these
 * workflows say so too. (Where they do not, that worker is the stale one.)
 */
async function stuckOn(client: Client, id: string): Promise<string | undefined> {
  if (!(await fails(client, id))) return undefined;
  const { misfitOf } = await import('../workers/replay.js');
  const misfit = await misfitOf(await client.workflow.getHandle(id).fetchHistory(), id);
  return misfit && `the history of '${id}' is of other code: ${misfit}`;
}

/** A task of its that failed before, or that fails when it is asked something. */
async function fails(client: Client, id: string): Promise<boolean> {
  const handle = client.workflow.getHandle(id);
  const { raw } = await handle.describe();
  if ((raw.pendingWorkflowTask?.attempt ?? 1) > 1) return true;
  return handle.query('__temporal_workflow_metadata').then(
    () => false,
    (error: Error) => /TMPRL1100|nondeterminis/i.test(error.message),
  );
}

async function describe(client: Client, id: string): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await client.workflow.getHandle(id).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

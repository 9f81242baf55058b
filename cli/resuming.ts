// What `gauntlet resume` does with a run, by the state it is in. Nothing finished is lost: a run that is started again
// under its id takes it from the store.
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { type Decision, fieldsText, type Request } from '../core/control.js';
import { GauntletError } from '../core/errors.js';
import type { Store } from '../store/store.js';
import { carriedFrom } from './carried.js';
import { ask } from './commands/control.js';
import { checkIsRun, describeExecution, goesOn, heldUp, openExecutions, unpause } from './executions.js';
import { hasPollers, type Session } from './session.js';
import { folderOf, storedRun } from './stored.js';
import { inputOf, type Joined, startOrJoin } from './training.js';
import { queryProgress } from './watch.js';

export interface Resumed {
  joined: Joined;
  said: string; // what was done, after "run 'id' "
}

type Resuming = Pick<Session, 'client' | 'workers'> & { store: Store };

const AGAIN = 'started again under its id: finished work is taken from the store';
const TOGETHER = 'another command has just started it again';

/**
 * @param decision of a run that waits; 'retry' also where it does not
 * @throws GauntletError NOT_FOUND | BAD_INPUT | SERVER_UNAVAILABLE
 */
export async function resumeRun(session: Resuming, id: string, decision: Decision = 'retry'): Promise<Resumed> {
  const { client, store } = session;
  const found = await describeExecution(client, id);
  if (found === undefined) return fromStore(session, id, decision);
  checkIsRun(found, 'resume');
  const status = found.status.name;
  if (status === 'RUNNING' || status === 'PAUSED') return goOn(session, id, decision);
  if (decision !== 'retry') {
    throw new GauntletError('BAD_INPUT', `run '${id}' is ${status.toLowerCase()}: it waits for no decision`);
  }
  const joined = { handle: client.workflow.getHandle(id), how: 'finished' } as const;
  if (status === 'COMPLETED') return { joined, said: 'had finished; nothing to do' };
  const restarted = await again(client, store, id);
  return { ...restarted, said: `was ${status.toLowerCase().replaceAll('_', ' ')}: ${restarted.said}` };
}

/** One that ended longer ago than the server keeps histories, or that another server had. */
async function fromStore({ client, store }: Resuming, id: string, decision: Decision): Promise<Resumed> {
  const stored = await storedRun(store, id);
  if (stored === undefined) {
    const where = `on this server, nor in ${folderOf(store)}`;
    throw new GauntletError('NOT_FOUND', `no run '${id}' ${where}; list them with: npx gauntlet status`);
  }
  const forgotten = 'the server no longer knows it';
  if (decision !== 'retry') {
    throw new GauntletError('BAD_INPUT', `run '${id}' waits for no decision: ${forgotten}`);
  }
  const { steps, input, result } = stored;
  if (result !== undefined) {
    const joined = { handle: client.workflow.getHandle(id), how: 'finished', result } as const;
    return { joined, said: `had finished; nothing to do (${forgotten})` };
  }
  if (input === undefined) {
    const way = `start it with its configuration again: npx gauntlet train ${id}`;
    throw new GauntletError(
      'NOT_FOUND',
      `run '${id}': ${forgotten}, and the store has not what it was started with; ${way}`,
    );
  }
  const joined = await startOrJoin(client, id, input);
  return { joined, said: `goes on: ${forgotten}; started again from the store: ${steps} steps already done` };
}

async function goOn(session: Resuming, id: string, decision: Decision): Promise<Resumed> {
  const { client, store } = session;
  const handle = client.workflow.getHandle(id);
  const joined = { handle, how: 'joined' } as const;
  const rested = (await heldUp(client, await openExecutions(client, id))).filter(({ paused }) => paused);
  for (const held of rested) await unpause(client, held);
  const names = [...new Set(rested.map(({ activity }) => activity?.type ?? 'the run'))].join(', ');
  if (session.workers === undefined && !(await hasPollers(client))) {
    if (decision !== 'retry') {
      throw new GauntletError('SERVER_UNAVAILABLE', 'no worker serves runs, so none can hear of it: npx gauntlet up');
    }
    return { joined, said: 'goes on where it was as soon as a worker serves it' };
  }
  for (const { workflowId: execution } of await openExecutions(client, id)) {
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
    const restarted = await again(client, store, id);
    return { ...restarted, said: `could not go on (${stuck}): terminated and ${restarted.said}` };
  }
  const progress = await queryProgress(handle);
  if (progress?.state === 'waiting') {
    const { activity } = progress.failure!;
    await ask(handle, { name: 'decide', decision });
    const done = { retry: `tries ${activity} again`, skip: `leaves out the step of ${activity}`, abort: 'ends' };
    return { joined, said: done[decision] };
  }
  if (decision !== 'retry') throw new GauntletError('BAD_INPUT', `run '${id}' waits for no decision`);
  if (progress?.state !== 'paused') {
    return { joined, said: names === '' ? 'goes on where it was' : `goes on: ${names} had been paused on the server` };
  }
  await ask(handle, { name: 'resume' });
  return { joined, said: 'goes on after its pause' };
}

/** With its own input, and what it had accepted and not come to; what it did before is in the store. */
async function again(client: Client, store: Store, id: string): Promise<Resumed> {
  const input = await inputOf(client, id);
  if (!(await endStages(client, id))) return { joined: await startOrJoin(client, id, input), said: TOGETHER };
  const carried = await carriedFrom(client, store, id);
  const joined = await startOrJoin(client, id, input, carried);
  if (joined.how !== 'restarted') return { joined, said: TOGETHER };
  return { joined, said: carried.length === 0 ? AGAIN : `${AGAIN}; ${carriedText(carried)}` };
}

function carriedText(carried: readonly Request[]): string {
  const what = carried.map((request) =>
    request.kind === 'change' ? `set ${fieldsText(request.fields)}` : request.kind,
  );
  return `what it had accepted and not come to follows after step ${carried[0]!.after}: ${what.join(', ')}`;
}

/**
 * A stage that outlives its run was asked to end; one that cannot go on does not hear of it. False where the run goes on:
 * its stages are its own.
 */
async function endStages(client: Client, id: string): Promise<boolean> {
  const stages = (await openExecutions(client, id)).filter(({ workflowId }) => workflowId !== id);
  const run = await describeExecution(client, id); // after its stages: a new run is there before any stage of it
  if (run !== undefined && goesOn(run)) return false;
  for (const { workflowId: stage, runId } of stages)
    await terminate(client, stage, `gauntlet resume: run '${id}' ended and is started again`, runId);
  return true;
}

async function terminate(client: Client, id: string, reason: string, runId?: string): Promise<void> {
  try {
    await client.workflow.getHandle(id, runId).terminate(reason);
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

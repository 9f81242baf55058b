// The controls of the dashboard: the functions of `gauntlet status`, `pause`, `stop` and `resume` over one connection. It opens
// when a page first asks, and again after a fault.
import type { Client } from '@temporalio/client';
import { GauntletError } from '../../core/base/errors.js';
import type { RunProgress } from '../../core/schema/run.js';
import type { ControlAnswer, ControlRequest, LiveState, LiveStates, LiveView } from '../../dashboard/api.js';
import type { Controls } from '../../dashboard/controls.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { commandLine } from '../terminal/commandLine.js';
import { createOutput, failureOf, isErrorCode } from '../terminal/output.js';
import { type Held, heldText, inWords, isOpen } from './executions.js';
import { resumeRun } from './resuming.js';
import { openSession, type Session } from './session.js';
import { heldState, type RunStatus, STORED, statusOfRun } from './status.js';
import { checkServer, updateRun } from './updates.js';

const ANSWER_MS = 3000; // how long the server may take to answer for one run or for all runs
const MAX_LISTED = 1000; // the most runs that are listed

export interface DashboardControls extends Controls {
  close(): Promise<void>;
}

/**
 * @param place the folder or URL of the store
 * @param ui the address of Temporal's Web UI, if it is not the one that the session finds
 */
export function openControls(store: ObjectStore, place: string, ui?: string): DashboardControls {
  let opening: Promise<Session> | undefined;

  async function close(): Promise<void> {
    const session = opening?.catch(() => undefined);
    opening = undefined;
    await (await session)?.close();
  }

  /** @throws GauntletError, or a fault that has no code */
  async function withServer<T>(work: (session: Session) => Promise<T>): Promise<T> {
    checkServer(place);
    opening ??= openSession({ store: place }, createOutput(), 'none').catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    const current = opening;
    try {
      return await work(await current);
    } catch (error) {
      if (error instanceof GauntletError) throw error;
      if (opening === current) await close(); // the server may have gone, or come back at another port
      const { code, message } = failureOf(error);
      throw isErrorCode(code) ? new GauntletError(code, message) : error;
    }
  }

  async function live(run: string): Promise<LiveView> {
    try {
      return await withServer(async (session) => {
        const { client, server } = session;
        const status = await client.withDeadline(Date.now() + ANSWER_MS, () => statusOfRun(run, store, session));
        const address = ui ?? server.uiUrl;
        const path = `/namespaces/${encodeURIComponent(server.namespace)}/workflows/${encodeURIComponent(run)}`;
        return {
          ...liveView(status!),
          ...(address !== null && status!.status !== STORED && { url: `${address.replace(/\/+$/, '')}${path}` }),
        };
      });
    } catch (error) {
      return { problem: failureOf(error).message, notes: [], actions: [] };
    }
  }

  async function states(): Promise<LiveStates> {
    try {
      return { states: await withServer(({ client }) => listStates(client)) };
    } catch (error) {
      return { problem: failureOf(error).message, states: {} };
    }
  }

  const request = (run: string, { action }: ControlRequest): Promise<ControlAnswer> =>
    withServer(async (session) => {
      if (action === 'pause' || action === 'stop') return { said: await updateRun(session, run, { name: action }) };
      const decision = action === 'resume' ? 'retry' : action;
      return { said: (await resumeRun({ ...session, store }, run, decision)).said };
    });

  return { states, live, request, close };
}

/** Lists the states with one request: the latest execution of each id, without completed runs, whose results are stored. */
async function listStates(client: Client): Promise<LiveStates['states']> {
  const done = ['Completed', 'ContinuedAsNew'].map((status) => ` AND ExecutionStatus != '${status}'`).join('');
  const query = `WorkflowType = 'trainFullPipeline'${done}`;
  return client.withDeadline(Date.now() + ANSWER_MS, async () => {
    const states = new Map<string, LiveState>();
    let listed = 0;
    for await (const run of client.workflow.list({ query, pageSize: MAX_LISTED })) {
      const { workflowId: id, status } = run;
      const held = heldState(run);
      if (!states.has(id))
        states.set(id, { state: held === undefined ? inWords(status.name) : HELD[held], isOpen: isOpen(run) });
      if (++listed === MAX_LISTED) break; // the next one would need another request
    }
    return Object.fromEntries(states);
  });
}

const WAITS = 'waits for a decision';
const HELD = { paused: 'paused', waiting: WAITS } as const;

function liveView({ id, status, held = [], progress, failure, result }: RunStatus): LiveView {
  if (result !== undefined) return { notes: [], actions: [] };
  if (status === STORED) return { state: 'not on the server', notes: [], actions: ['resume'] };
  const notes = held.map((each) => heldText(id, each));
  if (status !== 'RUNNING') {
    return { state: inWords(status), notes: failure === undefined ? notes : [failure], actions: ['resume'] };
  }
  if (progress === undefined) {
    const isHeld = held.some(({ paused }) => paused);
    return {
      state: 'running',
      notes: [`no worker answers: start one with ${commandLine('up')}`, ...notes],
      actions: isHeld ? ['resume'] : [],
    };
  }
  const { requested = [] } = progress;
  if (requested.length > 0) notes.unshift(`requested: ${requested.join(', ')} (after the current step)`);
  const view = { notes, actions: requested.includes('stop') ? [] : actionsIn(progress, held) };
  if (progress.failure === undefined) return { ...view, state: progress.state === 'paused' ? 'paused' : 'running' };
  const { activity, code, message } = progress.failure;
  const event = { step: progress.step, kind: 'failure', text: `${activity} failed: ${code}: ${message}`, at: '' };
  return { ...view, state: WAITS, failure: event };
}

function actionsIn({ state, failure, requested = [] }: RunProgress, held: readonly Held[]): LiveView['actions'] {
  if (failure !== undefined) return ['retry', ...(failure.inStep ? (['skip'] as const) : []), 'abort', 'stop'];
  const isPaused = state === 'paused' || held.some(({ paused }) => paused);
  if (isPaused) return ['resume', 'stop'];
  return requested.includes('pause') ? ['stop'] : ['pause', 'stop'];
}

// The connection of a command: a server (external, running or started here), and workers in this process if none poll.
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  Client,
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';
import { type Command, Option } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import type { SandboxKind } from '../../core/schema/config.js';
import { TASK_QUEUES, WORKER_ROLES, type WorkerRole } from '../../core/temporal/queues.js';
import { isAlive } from '../../infra/lock.mjs';
import { dataConverter } from '../../infra/payloadCodec.js';
import { isHere } from '../../infra/place.mjs';
import { forClient } from '../../infra/proxy.js';
import { ensureServer, runningAddress, type TemporalServer } from '../../infra/temporalServer.js';
import { temporalTarget } from '../../infra/temporalTarget.js';
import type { Device } from '../../ml/engine/engine.js';
import { DEFAULT_STORE, localFolder, storeExists, storePlace } from '../../store/openStore.js';
import { isS3 } from '../../store/s3Place.js';
import { createLogger } from '../../workers/logger.js';
import type { RunningWorkers } from '../../workers/start.js';
import { openTracing } from '../../workers/telemetry.js';
import { commandLine, useStore } from '../terminal/commandLine.js';
import { onInterrupt } from '../terminal/interrupt.js';
import { MOVED, type Output } from '../terminal/output.js';
import { describeExecution } from './executions.js';
import { tellNeed } from './onWaiting.js';

/** Statuses of gRPC with which calls of this process end before they reach a server. */
export const ENDED = { code: 1, details: 'the session has ended' }; // CANCELLED
const GONE = { code: 14, details: 'it has ended' }; // UNAVAILABLE
const moved = (address: string) => ({ code: 9, details: MOVED + address }); // FAILED_PRECONDITION, which is not repeated
const RECONNECT_MS = 5_000; // longest wait between attempts; the default is two minutes
const POLL_S = 75; // a poll waits up to a minute for a task

export interface StoreFlags {
  store: string;
  json?: boolean;
}

export interface SessionFlags extends StoreFlags {
  port?: number;
  uiPort?: number;
  sandbox?: SandboxKind;
  device?: Device;
  metrics?: string;
  onWaiting?: string;
}

export interface Session {
  store: string;
  client: Client;
  server: TemporalServer;
  workers?: RunningWorkers;
  /** Rejects if the server of this session or a worker ends unexpectedly; never resolves. */
  lost: Promise<never>;
  close(): Promise<void>;
}

/**
 * Who may use a store that does not exist yet. 'creates': commands that write to it. 'server': commands that ask a
 * server, so an external server is enough. 'reads': commands that read it. Without this check a mistyped folder would be
 * created, or reported as healthy.
 */
type StoreUse = 'creates' | 'server' | 'reads';

/** Adds --store: a folder, a file: URL or an s3: URL. The action receives a folder or the s3: URL. */
export function withStore(command: Command, use: StoreUse = 'creates'): Command {
  const place = process.env.GAUNTLET_STORE || DEFAULT_STORE;
  return command
    .addOption(
      new Option('--store <place>', 'store of runs: a folder or s3://BUCKET/PREFIX').default(
        place,
        `$GAUNTLET_STORE or ${DEFAULT_STORE}`,
      ),
    )
    .hook('preAction', async (_, called) => {
      const store = storePlace(called.getOptionValue('store') as string);
      called.setOptionValue('store', store);
      useStore(store);
      if (!isS3(store) && (await stat(store).catch(() => undefined))?.isDirectory() === false)
        throw new GauntletError('BAD_INPUT', `--store ${store}: is a file, a folder is needed`);
      if (use === 'creates' || (use === 'server' && temporalTarget(process.env) !== undefined)) return;
      if (!(await storeExists(store))) {
        const way = `name another one with --store, or create it with: ${commandLine('demo')}`;
        throw new GauntletError('NOT_FOUND', `no store at ${isS3(store) ? store : resolve(store)}: ${way}`);
      }
    });
}

/** True if a server is configured, or the embedded server of this store runs. */
export const hasServer = (store: string): boolean =>
  temporalTarget(process.env) !== undefined || runningAddress(localFolder(store)) !== undefined;

/** Opens a session for `work` and closes it afterwards. */
export async function withSession<T>(
  options: SessionFlags,
  output: Output,
  workers: WorkersMode,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const session = await openSession(options, output, workers);
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}

type WorkersMode = 'none' | 'here' | 'if-none-poll';

/** @param workers 'if-none-poll': starts workers in this process if no worker polls the queue */
export async function openSession(
  options: SessionFlags,
  output: Output,
  workers: WorkersMode,
  roles: readonly WorkerRole[] = WORKER_ROLES,
): Promise<Session> {
  const server = await ensureServer({
    storeDir: localFolder(options.store),
    port: options.port,
    uiPort: options.uiPort,
    log: (line) => (workers === 'none' ? undefined : output.note(line)),
  });
  let connection: Connection | undefined;
  let running: RunningWorkers | undefined;
  let closing = false;
  const close = async (): Promise<void> => {
    closing = true;
    await running?.shutdown();
    await connection?.close();
    await server.close();
  };
  try {
    const { channelArgs, ...settings } = forClient(server.connection);
    connection = await Connection.connect({
      ...settings,
      interceptors: interceptorsUntil(() => (closing ? ENDED : changeOf(server, options.store))),
      channelArgs: { ...channelArgs, 'grpc.max_reconnect_backoff_ms': RECONNECT_MS },
    });
    const tracing = await openTracing();
    const client = new Client({
      connection,
      namespace: server.namespace,
      dataConverter: dataConverter(process.env),
      interceptors: tracing && { workflow: [tracing.clientInterceptor] },
    });
    if (workers === 'here' || (workers === 'if-none-poll' && !(await hasPollers(client)))) {
      const { startWorkers } = await import('../../workers/start.js'); // loading it takes half a second
      running = await startWorkers({
        connection: server.connection,
        namespace: server.namespace,
        store: options.store,
        roles,
        sandbox: options.sandbox,
        device: options.device,
        metrics: options.metrics,
        ...(workers === 'here' && { onAttention: tellNeed(output, options.onWaiting) }), // a watched run tells it itself
        ...(process.env.GAUNTLET_BUILD_ID ? { buildId: process.env.GAUNTLET_BUILD_ID } : {}),
        log: createLogger(process.env.GAUNTLET_LOG ?? 'info', join(localFolder(options.store), 'worker.log')),
        say: (line) => output.note(line),
      });
    }
    const lost = rejectWhenLost(server, running, () => closing);
    return { store: options.store, client, server, workers: running, lost, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Notes that --sandbox and --device have no effect, if the command starts no worker that they could configure. */
export function noteUnused({ workers }: Session, { sandbox, device }: SessionFlags, { note }: Output): void {
  const unused = [...(sandbox ? ['--sandbox'] : []), ...(device ? ['--device'] : [])];
  if (workers === undefined && unused.length > 0)
    note(`${unused.join(' and ')}: without effect, because this command starts no worker`);
}

interface Listener {
  onReceiveMessage?(message: null): void;
  onReceiveStatus?(status: object): void;
}
type Interceptors = NonNullable<ConnectionOptions['interceptors']>;

/** Whether the embedded server that a command found has ended or moved. Another program may have its port by now. */
function changeOf({ pid, address }: TemporalServer, store: string): typeof ENDED | undefined {
  const current = pid === undefined ? address : runningAddress(localFolder(store));
  if (current === address) return undefined;
  return current === undefined ? GONE : moved(current);
}

/**
 * Fails calls with a status, if there is one, instead of sending them. It stops the client's own retries when the session ends:
 * a retry on the closed channel would end the process.
 */
export function interceptorsUntil(status: () => typeof ENDED | undefined): Interceptors {
  const cancelled = ((options, nextCall) => {
    const end = status();
    if (end === undefined) return nextCall(options);
    const nothing = (): undefined => undefined;
    const call = {
      start: (metadata: object, listener: Listener = {}) => {
        listener.onReceiveMessage?.(null); // gRPC tells of no message, too, before it tells the status
        listener.onReceiveStatus?.({ ...end, metadata });
      },
      sendMessage: nothing,
      sendMessageWithContext: nothing,
      startRead: nothing,
      halfClose: nothing,
      cancelWithStatus: nothing,
      getPeer: () => '',
      getAuthContext: () => null,
    };
    return call;
  }) as Interceptors[number];
  return [makeGrpcRetryInterceptor(defaultGrpcRetryOptions()), cancelled];
}

function rejectWhenLost(
  server: TemporalServer,
  workers: RunningWorkers | undefined,
  closing: () => boolean,
): Promise<never> {
  const lost = new Promise<never>((_, reject) => {
    server.exited?.then(() => {
      if (!closing())
        reject(new GauntletError('SERVER_UNAVAILABLE', 'the Temporal server ended: run the same command again'));
    });
    workers?.run.catch(reject);
  });
  lost.catch(() => undefined); // avoids an unhandled rejection; callers race against it
  return lost;
}

const WORKFLOW_TASKS = 1; // TaskQueueType

/** True if a live worker polls the workflow queue. */
export async function hasPollers(client: Client): Promise<boolean> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: TASK_QUEUES.orchestrator },
    taskQueueType: WORKFLOW_TASKS,
  });
  const now = Date.now() / 1000;
  return (pollers ?? []).some(({ lastAccessTime, identity }) =>
    isPolling({ polledAt: Number(lastAccessTime?.seconds ?? 0), identity: identity ?? '' }, now),
  );
}

export const noWorker = (): GauntletError =>
  new GauntletError(
    'SERVER_UNAVAILABLE',
    `no worker serves runs, so none can answer: start one with ${commandLine('up')}`,
  );

/** Whether a worker polls. An idle one polls once a minute; the server lists a dead one for five minutes. Times are in seconds. */
export const isPolling = ({ polledAt, identity }: { polledAt: number; identity: string }, now: number): boolean =>
  polledAt > now - POLL_S && mayLive(identity);

/** Whether the process of an identity `pid@place` may be alive. Processes elsewhere cannot be checked and count as alive. */
export function mayLive(identity: string): boolean {
  const at = identity.indexOf('@');
  const pid = Number(identity.slice(0, at));
  return !isHere(identity.slice(at + 1)) || !Number.isSafeInteger(pid) || (pid !== process.pid && isAlive(pid));
}

/** Returns the name of a workflow's status, or undefined if the server does not know the id. */
export const statusOf = async (client: Client, id: string): Promise<string | undefined> =>
  (await describeExecution(client, id))?.status.name;

/** Serves until Ctrl-C, or until the server or a worker ends. */
export async function serve(session: Session, ready: () => void | Promise<void>): Promise<void> {
  let release = (): void => undefined;
  const stopped = new Promise<void>((resolve) => {
    release = onInterrupt(resolve);
  });
  try {
    await Promise.race([Promise.resolve(ready()).then(() => stopped), session.lost]);
  } finally {
    release();
    await session.close();
  }
}

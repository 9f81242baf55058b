// A command's connection: the server that is reachable or the embedded one, and workers in this process where none poll.
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import {
  Client,
  type ConnectionOptions as ClientConnectionOptions,
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { type Command, Option } from 'commander';
import { GauntletError } from '../core/errors.js';
import { TASK_QUEUES, WORKER_ROLES, type WorkerRole } from '../core/queues.js';
import { isAlive } from '../infra/lock.mjs';
import { dataConverter } from '../infra/payloadCodec.js';
import { ensureServer, type TemporalServer } from '../infra/temporalServer.js';
import { temporalTarget } from '../infra/temporalTarget.js';
import type { Device } from '../ml/engine/engine.js';
import { DEFAULT_STORE, storeFolder } from '../store/fileStore.js';
import { createLogger } from '../workers/logger.js';
import type { RunningWorkers } from '../workers/start.js';
import type { Output } from './output.js';

const GRPC_CANCELLED = 1;
const RECONNECT_MS = 5_000; // at least so often: by itself a channel waits up to two minutes for a server to come back
const POLL_S = 75; // a poll waits for a task up to a minute

export interface ConnectionOptions {
  store: string;
  port?: number;
  uiPort?: number;
  sandbox?: 'auto' | 'docker' | 'wasm';
  device?: Device;
}

export interface Session {
  client: Client;
  server: TemporalServer;
  workers?: RunningWorkers;
  /** Rejects when the server of this session, or a worker, ends by itself; never resolves. */
  lost: Promise<never>;
  close(): Promise<void>;
}

/**
 * Who may begin a store. 'anyone': a command that has something to put there. 'a server': one that asks a server, so
 * that another one than the store's own will do. 'nobody': one that reads what is there. A mistyped folder would
 * otherwise be made, or be called whole.
 */
type Begins = 'anyone' | 'a server' | 'nobody';

/** Where artifacts, runs and the embedded server live: a folder, also as a file: URL. The action is given the folder. */
export function withStore(command: Command, begins: Begins = 'anyone'): Command {
  const place = process.env.GAUNTLET_STORE || DEFAULT_STORE;
  return command
    .addOption(new Option('--store <folder>', 'where runs live').default(place, `$GAUNTLET_STORE or ${DEFAULT_STORE}`))
    .hook('preAction', (_, called) => {
      const folder = storeFolder(called.getOptionValue('store') as string);
      called.setOptionValue('store', folder);
      if (begins === 'anyone' || (begins === 'a server' && temporalTarget(process.env) !== undefined)) return;
      if (!isStore(folder)) {
        const way = 'name the one you mean with --store, or begin one with: npx gauntlet train --watch';
        throw new GauntletError('NOT_FOUND', `no store at ${resolve(folder)}: ${way}`);
      }
    });
}

/** What is there once a run, or a server, has been. */
const isStore = (folder: string): boolean =>
  ['runs', 'blobs', 'memo', 'temporal.db'].some((name) => existsSync(join(folder, name)));

/** 'none': only the server. 'if-none-poll': workers start here when nobody serves the queue. */
export async function openSession(
  options: ConnectionOptions,
  output: Output,
  workers: 'none' | 'here' | 'if-none-poll',
  roles: readonly WorkerRole[] = WORKER_ROLES,
): Promise<Session> {
  const server = await ensureServer({
    storeDir: options.store,
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
    connection = await Connection.connect({
      ...server.connection,
      interceptors: interceptorsUntil(() => closing),
      channelArgs: { 'grpc.max_reconnect_backoff_ms': RECONNECT_MS },
    });
    const client = new Client({ connection, namespace: server.namespace, dataConverter: dataConverter(process.env) });
    if (workers === 'here' || (workers === 'if-none-poll' && !(await hasPollers(client)))) {
      const { startWorkers } = await import('../workers/start.js'); // half a second that other commands do without
      running = await startWorkers({
        connection: server.connection,
        namespace: server.namespace,
        store: options.store,
        roles,
        sandbox: options.sandbox,
        device: options.device,
        ...(process.env.GAUNTLET_BUILD_ID ? { buildId: process.env.GAUNTLET_BUILD_ID } : {}),
        log: createLogger(process.env.GAUNTLET_LOG ?? 'info', join(options.store, 'worker.log')),
        say: (line) => output.note(line),
      });
    }
    const lost = lossOf(server, running, () => closing);
    return { client, server, workers: running, lost, close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Interceptors = NonNullable<ClientConnectionOptions['interceptors']>;

/**
 * The client's own retries, which end with the session: by themselves they would call again on a channel that has been
 * closed, and the throw out of their timer would end the process.
 */
export function interceptorsUntil(closed: () => boolean): Interceptors {
  const cancelled = ((options, nextCall) => {
    if (!closed()) return nextCall(options);
    const nothing = (): undefined => undefined;
    const call = {
      start: (metadata: object, listener?: { onReceiveStatus?(status: object): void }) =>
        listener?.onReceiveStatus?.({ code: GRPC_CANCELLED, details: 'the session has ended', metadata }),
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

function lossOf(server: TemporalServer, workers: RunningWorkers | undefined, closing: () => boolean): Promise<never> {
  const lost = new Promise<never>((_, reject) => {
    server.exited?.then(() => {
      if (!closing())
        reject(new GauntletError('SERVER_UNAVAILABLE', 'the Temporal server ended: run the same command again'));
    });
    workers?.run.catch(reject);
  });
  lost.catch(() => undefined); // whoever waits for it hears of it
  return lost;
}

/** Does any live worker poll the workflow queue? */
export async function hasPollers(client: Client): Promise<boolean> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: TASK_QUEUES.orchestrator },
    taskQueueType: 1,
  });
  const now = Date.now() / 1000;
  return (pollers ?? []).some(({ lastAccessTime, identity }) =>
    isPolling({ polledAt: Number(lastAccessTime?.seconds ?? 0), identity: identity ?? '' }, now),
  );
}

/** An idle worker asks once a minute; one that died stays listed for five. Times in s. */
export const isPolling = ({ polledAt, identity }: { polledAt: number; identity: string }, now: number): boolean =>
  polledAt > now - POLL_S && mayLive(identity);

/** An identity is `pid@host`: of this machine's processes it is known whether they are there. */
export function mayLive(identity: string): boolean {
  const at = identity.indexOf('@');
  const pid = Number(identity.slice(0, at));
  return identity.slice(at + 1) !== hostname() || !Number.isSafeInteger(pid) || (pid !== process.pid && isAlive(pid));
}

/** The status name of a workflow, or undefined where the server knows no such id. */
export async function statusOf(client: Client, id: string): Promise<string | undefined> {
  try {
    return (await client.workflow.getHandle(id).describe()).status.name;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** Calls `stop` on the first Ctrl-C or SIGTERM; a second one ends the process at once. */
export function onInterrupt(stop: () => void): () => void {
  let asked = false;
  const handler = (): void => {
    if (asked) process.exit(130);
    asked = true;
    stop();
  };
  process.on('SIGINT', handler);
  process.on('SIGTERM', handler);
  return () => {
    process.off('SIGINT', handler);
    process.off('SIGTERM', handler);
  };
}

/** Serves until Ctrl-C, or until the server or a worker ends. */
export async function serve(session: Session, ready: () => void): Promise<void> {
  let release = (): void => undefined;
  const stopped = new Promise<void>((resolve) => {
    release = onInterrupt(resolve);
  });
  try {
    ready();
    await Promise.race([stopped, session.lost]);
  } finally {
    release();
    await session.close();
  }
}

// A command's connection: the server that is reachable or the embedded one, and workers in this process where none poll.
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import type { Command } from 'commander';
import { TASK_QUEUES, WORKER_ROLES, type WorkerRole } from '../core/queues.js';
import { ensureServer, type TemporalServer } from '../infra/temporalServer.js';
import { createLogger } from '../workers/logger.js';
import { type RunningWorkers, startWorkers } from '../workers/start.js';
import type { Output } from './output.js';

export interface ConnectionOptions {
  store: string;
  port?: number;
  uiPort?: number;
  sandbox?: 'auto' | 'docker' | 'wasm';
}

export interface Session {
  client: Client;
  server: TemporalServer;
  workers?: RunningWorkers;
  close(): Promise<void>;
}

/** The options every command that talks to a server has. */
export function withConnection(command: Command): Command {
  return command.option(
    '--store <folder>',
    'where artifacts, runs and the embedded server live',
    process.env.GAUNTLET_STORE ?? '.gauntlet',
  );
}

/** `workers: 'none'` needs no model; 'if-none-poll' starts them here when nobody serves the queue. */
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
    log: (line) => output.note(line),
  });
  let connection: Connection | undefined;
  let running: RunningWorkers | undefined;
  const close = async (): Promise<void> => {
    await running?.shutdown();
    await connection?.close();
    await server.close();
  };
  try {
    connection = await Connection.connect({ address: server.address });
    const client = new Client({ connection, namespace: server.namespace });
    if (workers === 'here' || (workers === 'if-none-poll' && !(await hasPollers(client)))) {
      running = await startWorkers({
        address: server.address,
        namespace: server.namespace,
        store: options.store,
        roles,
        sandbox: options.sandbox,
        log: createLogger(),
      });
    }
    return { client, server, workers: running, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Does any worker poll the workflow queue? */
export async function hasPollers(client: Client): Promise<boolean> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: TASK_QUEUES.orchestrator },
    taskQueueType: 1,
  });
  const recent = Date.now() / 1000 - 20; // a poller that died stays listed for five minutes
  return (pollers ?? []).some((poller) => Number(poller.lastAccessTime?.seconds ?? 0) > recent);
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

/** Ends on the first Ctrl-C or SIGTERM; a second one ends the process at once. */
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

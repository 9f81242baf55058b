// A Temporal server of a test's own, and workers over doubles or over the real engine.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { TASK_QUEUES } from '../../core/queues.js';
import { findTemporalCli } from '../../infra/temporal-cli.mjs';
import { ensureServer, type ServerOptions, type TemporalServer } from '../../infra/temporalServer.js';
import { createLogger } from '../../workers/logger.js';
import { type RunningWorkers, type StartOptions, startWorkers } from '../../workers/start.js';
import type { Doubles } from '../support/doubles.js';

/** For `before`: skips where there is no Temporal CLI, unless one is required. */
export function needTemporal(context: Mocha.Context): void {
  if (findTemporalCli() !== undefined) return;
  if (process.env.GAUNTLET_REQUIRE_TEMPORAL) {
    throw new Error('GAUNTLET_REQUIRE_TEMPORAL is set and there is no Temporal CLI');
  }
  context.skip(); // no Temporal CLI on this machine
}

export interface TestServer {
  server: TemporalServer;
  client: Client;
  folder: string;
  close(): Promise<void>;
}

export async function startServer(
  options: Pick<ServerOptions, 'port' | 'dynamicConfig'> & { folder?: string } = {},
): Promise<TestServer> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'gauntlet-workflows-')));
  const env = { ...process.env, TEMPORAL_ADDRESS: undefined };
  const { port = 0, dynamicConfig } = options;
  const server = await ensureServer({
    storeDir: folder,
    port,
    uiPort: 0,
    env,
    ...(dynamicConfig && { dynamicConfig }),
  });
  const connection = await Connection.connect({ address: server.address });
  return {
    server,
    client: new Client({ connection, namespace: server.namespace }),
    folder,
    close: async () => {
      await connection.close();
      await server.close();
      if (options.folder === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The same server, which commands in this process find until it is closed. */
export function findable(host: TestServer): TestServer {
  const before = process.env.TEMPORAL_ADDRESS;
  process.env.TEMPORAL_ADDRESS = host.server.address;
  return {
    ...host,
    close: async () => {
      if (before === undefined) delete process.env.TEMPORAL_ADDRESS;
      else process.env.TEMPORAL_ADDRESS = before;
      await host.close();
    },
  };
}

export function workersOver(
  server: TemporalServer,
  { deps, folder }: Doubles,
  options: Partial<StartOptions> = {},
): Promise<RunningWorkers> {
  return startWorkers({
    connection: server.connection,
    namespace: server.namespace,
    store: folder,
    log: createLogger('error'),
    deps: async (searchAttributes) => ({ deps: { ...deps, searchAttributes }, close: async () => undefined }),
    ...options,
  });
}

export const startRun = (client: Client, workflowId: string, ...args: unknown[]) =>
  client.workflow.start('trainFullPipeline', { taskQueue: TASK_QUEUES.orchestrator, workflowId, args });

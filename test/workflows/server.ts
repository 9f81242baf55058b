// A Temporal server for a test file, and workers over doubles or over the real engine.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { Deps } from '../../chains/scope.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import { forClient } from '../../infra/proxy.js';
import { findTemporalCli } from '../../infra/temporal-cli.mjs';
import { prepareNamespace } from '../../infra/temporalNamespace.js';
import { ensureServer, type ServerOptions, type TemporalServer } from '../../infra/temporalServer.js';
import { createLogger } from '../../workers/logger.js';
import { type RunningWorkers, type StartOptions, startWorkers } from '../../workers/start.js';
import type { Doubles } from '../support/doubles.js';

/** A hook for `before` that skips a suite if there is no Temporal CLI, unless one is required. */
export function needTemporal(context: Mocha.Context): void {
  if (findTemporalCli() !== undefined) return;
  if (process.env.GAUNTLET_REQUIRE_TEMPORAL) {
    throw new Error('GAUNTLET_REQUIRE_TEMPORAL is set and there is no Temporal CLI');
  }
  context.skip(); // this machine has no Temporal CLI
}

export interface TestServer {
  server: TemporalServer;
  client: Client;
  folder: string;
  close(): Promise<void>;
}

export interface ServerNeeds extends Pick<ServerOptions, 'dynamicConfig'> {
  own?: boolean; // true for tests that end the server or read its files
}

/** A namespace on the server that tools/run-tests.mjs shares. Without that server, or on demand, it has its own server. */
export async function startServer({ own, dynamicConfig }: ServerNeeds = {}): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gauntlet-workflows-'));
  const shared = own || dynamicConfig ? undefined : process.env.GAUNTLET_TEST_TEMPORAL;
  const server = shared ? await shareServer(shared) : await startOwn(folder, dynamicConfig);
  const connection = await Connection.connect(forClient({ address: server.address }));
  return {
    server,
    client: new Client({ connection, namespace: server.namespace }),
    folder,
    close: async () => {
      await connection.close();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function startOwn(folder: string, dynamicConfig?: ServerOptions['dynamicConfig']): Promise<TemporalServer> {
  const env = { ...process.env, TEMPORAL_ADDRESS: undefined };
  const options = { storeDir: folder, port: 0, uiPort: 0, env };
  return ensureServer({ ...options, ...(dynamicConfig && { dynamicConfig }) });
}

/** A new namespace separates task queues and ids. Commands that the test starts find it in the environment. */
async function shareServer(address: string): Promise<TemporalServer> {
  const namespace = `test-${randomUUID()}`;
  const connection = await Connection.connect(forClient({ address }));
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: (24 * 3600) as never },
  });
  await prepareNamespace(connection, namespace, { retention: true, log: () => undefined });
  await connection.close();
  const before = process.env.TEMPORAL_NAMESPACE;
  process.env.TEMPORAL_NAMESPACE = namespace;
  return {
    address,
    connection: { address },
    namespace,
    uiUrl: null,
    owned: false,
    close: async () => {
      if (before === undefined) delete process.env.TEMPORAL_NAMESPACE;
      else process.env.TEMPORAL_NAMESPACE = before;
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

/** If `current` is a function, activities use the doubles that it returns, so one set of workers serves a suite. */
export function workersOver(
  server: TemporalServer,
  world: Doubles | (() => Doubles),
  options: Partial<StartOptions> = {},
): Promise<RunningWorkers> {
  const deps =
    typeof world !== 'function'
      ? world.deps
      : Object.assign(
          forwarding(() => world().deps),
          { store: forwarding(() => world().deps.store), codeVersion: 'test' },
        );
  return startWorkers({
    connection: server.connection,
    namespace: server.namespace,
    store: typeof world === 'function' ? '' : world.folder,
    log: createLogger('error'),
    deps: async (searchAttributes) => ({
      deps: Object.assign(Object.create(deps), { searchAttributes }) as Deps,
      close: async () => undefined,
    }),
    ...options,
  });
}

/** An object with its own properties; all other properties are those of `current()`. */
function forwarding<T extends object>(current: () => T): T {
  return new Proxy({} as T, {
    get: (own, key) => {
      const from = (key in own ? own : current()) as Record<PropertyKey, unknown>;
      const value = from[key];
      return typeof value === 'function' ? value.bind(from) : value;
    },
  });
}

export const startRun = (client: Client, workflowId: string, ...args: unknown[]) =>
  client.workflow.start('trainFullPipeline', { taskQueue: TASK_QUEUES.orchestrator, workflowId, args });

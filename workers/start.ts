// Workers by role in this process: task queues, concurrency, heartbeats, and a clean end.
import {
  type ActivityInterceptorsFactory,
  NativeConnection,
  Runtime,
  Worker,
  type WorkerDeploymentOptions,
  type WorkerOptions,
} from '@temporalio/worker';
import { type ActivityDeps, createActivities } from '../activities/index.js';
import { GauntletError } from '../core/errors.js';
import { DEPLOYMENT, TASK_QUEUES, WORKER_ROLES, type WorkerRole } from '../core/queues.js';
import type { RunConfig } from '../core/schema/config.js';
import { dataConverter } from '../infra/payloadCodec.js';
import { SEARCH_ATTRIBUTES } from '../infra/temporalNamespace.js';
import type { ConnectionSettings } from '../infra/temporalTarget.js';
import { resolveDevice } from '../ml/device/providers.js';
import type { Device } from '../ml/engine/engine.js';
import { workflowBundle } from './bundle.js';
import { type OpenDeps, openDeps } from './deps.js';
import { TimedHeartbeat } from './heartbeat.js';
import { createLogger, type Logger } from './logger.js';
import { claiming, ModelTurns, ownQueue } from './modelTurns.js';

export interface StartOptions {
  connection: ConnectionSettings;
  namespace: string;
  store: string;
  roles?: readonly WorkerRole[]; // default: all
  sandbox?: RunConfig['sandbox']; // overrides what runs ask for
  threads?: number; // of the engine
  device?: Device; // of the engine; goes before what runs ask for
  log?: Logger;
  /** Build of this worker's code: it takes work of its own version only (docs/operations.md). Absent: of any. */
  buildId?: string;
  /** The path of the workflows' code; default: today's. */
  workflows?: string;
  /** What activities run on; default: opened from the options above. */
  deps?: (searchAttributes: boolean) => Promise<OpenDeps>;
  /** Of every activity, around the worker's own. */
  activityInterceptors?: ActivityInterceptorsFactory[];
  /** Lines for people (which sandbox was taken); default: the log. */
  say?: (line: string) => void;
}

export interface RunningWorkers {
  /** Settles when the workers have stopped; rejects if one died. */
  run: Promise<void>;
  /** Lets running activities hear of it, waits a short grace, and closes engine and sandbox. */
  shutdown(): Promise<void>;
}

/** One model call at a time has the whole machine; CPU work is small. */
const CONCURRENT: Record<WorkerRole, number> = { orchestrator: 1, gpu: 1, sandbox: 1, cpu: 4 };

export async function startWorkers(options: StartOptions): Promise<RunningWorkers> {
  const { roles = WORKER_ROLES, namespace, log = createLogger() } = options;
  if (options.device && roles.includes('gpu')) await resolveDevice(options.device); // one that is absent: say so now
  installRuntime(log);
  const connection = await connect(options.connection);
  const searchAttributes = await knowsSearchAttributes(connection, namespace);
  const opened = await (options.deps?.(searchAttributes) ?? openDeps({ ...options, searchAttributes, log }));
  const workers: Worker[] = [];
  try {
    // asked for by name: a daemon that is missing should say so now, not at the first test
    if (options.sandbox && roles.includes('sandbox')) await opened.deps.sandbox({ sandbox: options.sandbox });
    for (const role of roles)
      for (const each of await workerOptions(role, connection, opened.deps, options))
        workers.push(await Worker.create(each));
  } catch (error) {
    await opened.close();
    await connection.close();
    throw error;
  }
  const stop = (): void => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  // one that dies takes the others down: half a set of queues would only look alive
  const runs = workers.map((worker) => worker.run().finally(stop));
  const run = Promise.allSettled(runs).then(async (settled) => {
    await opened.close();
    await connection.close();
    for (const result of settled) if (result.status === 'rejected') throw result.reason;
  });
  run.catch(() => undefined); // whoever waits for `run` hears of it
  return {
    run,
    shutdown: async () => {
      stop();
      await run.catch(() => undefined);
    },
  };
}

async function workerOptions(
  role: WorkerRole,
  connection: NativeConnection,
  deps: ActivityDeps,
  { namespace, buildId, workflows, activityInterceptors = [] }: StartOptions,
): Promise<WorkerOptions[]> {
  const common = {
    connection,
    namespace,
    ...(buildId === undefined ? {} : { workerDeploymentOptions: versioned(buildId) }),
    taskQueue: TASK_QUEUES[role],
    shutdownGraceTime: '3s',
    dataConverter: dataConverter(process.env),
  } as const;
  if (role === 'orchestrator') {
    // a killed worker's workflow tasks move to another one after so long
    const codePath = workflows ?? (await workflowBundle());
    return [{ ...common, workflowBundle: { codePath }, stickyQueueScheduleToStartTimeout: '2s' }];
  }
  const heartbeat: ActivityInterceptorsFactory = (context) => ({ inbound: new TimedHeartbeat(context) });
  const turns = role === 'gpu' ? new ModelTurns() : undefined;
  const activities = createActivities(deps);
  const serving: WorkerOptions = {
    ...common,
    activities,
    interceptors: { activity: [...activityInterceptors, heartbeat, ...(turns ? [turns.interceptor] : [])] },
    maxConcurrentActivityTaskExecutions: CONCURRENT[role],
    maxHeartbeatThrottleInterval: '1s',
  };
  if (turns === undefined) return [serving];
  const claim = { queue: ownQueue(), ...(buildId === undefined ? {} : { buildId }) };
  // whoever got it had it from a worker of the build that is current: the queue itself belongs to no build
  const { workerDeploymentOptions: _, ...own } = serving;
  return [
    { ...serving, activities: { ...activities, ...claiming(turns, claim) } },
    { ...own, taskQueue: claim.queue },
  ];
}

/** A run moves to the build that is current, at its next task; `patched` is what lets it. */
const versioned = (buildId: string): WorkerDeploymentOptions => ({
  version: { deploymentName: DEPLOYMENT, buildId },
  useWorkerVersioning: true,
  defaultVersioningBehavior: 'AUTO_UPGRADE',
});

async function connect(settings: ConnectionSettings): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(settings);
  } catch (error) {
    throw new GauntletError('SERVER_UNAVAILABLE', `no Temporal server answers at ${settings.address}`, {
      cause: error,
    });
  }
}

/** A server of people's own may lack them; runs then go without. */
async function knowsSearchAttributes(connection: NativeConnection, namespace: string): Promise<boolean> {
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return Object.keys(SEARCH_ATTRIBUTES).every((name) => customAttributes?.[name] !== undefined);
  } catch {
    return false;
  }
}

let installed = false;

/** The SDK's runtime is one per process; signals are the caller's business. */
export function installRuntime(logger: Logger): void {
  if (installed) return;
  installed = true;
  const log = (level: string, message: string, meta?: object): void => {
    // that a queue serves one kind of task only is what roles are about
    if (!/^No .* registered/.test(message)) logger[pinoLevel(level)](meta ?? {}, message);
  };
  Runtime.install({
    shutdownSignals: [],
    telemetryOptions: { logging: { filter: 'WARN', forward: {} } },
    logger: {
      log,
      trace: (message, meta) => log('trace', message, meta),
      debug: (message, meta) => log('debug', message, meta),
      info: (message, meta) => log('info', message, meta),
      warn: (message, meta) => log('warn', message, meta),
      error: (message, meta) => log('error', message, meta),
    },
  });
}

const pinoLevel = (level: string): 'trace' | 'debug' | 'info' | 'warn' | 'error' =>
  level.toLowerCase() as 'trace' | 'debug' | 'info' | 'warn' | 'error';

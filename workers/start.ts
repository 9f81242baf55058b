// Starts the workers of this process, one for each role: task queues, concurrency, heartbeats, and shutdown.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ActivityInterceptorsFactory,
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  type WorkerDeploymentOptions,
  type WorkerOptions,
} from '@temporalio/worker';
import { toFailure } from '../activities/failures.js';
import { createActivities } from '../activities/index.js';
import { beating, inTurn, watched } from '../activities/layers.js';
import type { Deps } from '../chains/scope.js';
import { GauntletError } from '../core/base/errors.js';
import type { RunConfig } from '../core/schema/config.js';
import { DEPLOYMENT, TASK_QUEUES, WORKER_ROLES, type WorkerRole } from '../core/temporal/queues.js';
import { SEARCH_ATTRIBUTES } from '../core/temporal/searchAttributes.js';
import { dataConverter } from '../infra/payloadCodec.js';
import { PLACE } from '../infra/place.mjs';
import { forWorker } from '../infra/proxy.js';
import { claimFolder, type FolderClaim } from '../infra/sharedFolder.js';
import type { ConnectionSettings } from '../infra/temporalTarget.js';
import { resolveDevice } from '../ml/device/providers.js';
import type { Device } from '../ml/engine/engine.js';
import { storePlace } from '../store/openStore.js';
import { isS3 } from '../store/s3Place.js';
import { attentionSinks, type Need, retryTeller } from './attention.js';
import { workflowBundle } from './bundle.js';
import { type OpenDeps, openDeps } from './deps/deps.js';
import { hangBound, secondsOf } from './environment.js';
import { HangWatch } from './hangs.js';
import { createLogger, type Logger } from './logger.js';
import { HISTOGRAM_BUCKETS, openMetrics } from './metrics.js';
import { claiming, ModelTurns, ownQueue } from './modelTurns.js';
import { observedDeps, progressObserver } from './observe.js';
import { openTracing } from './telemetry.js';
import type { Tracing } from './tracing.js';

export interface StartOptions {
  connection: ConnectionSettings;
  namespace: string;
  store: string;
  roles?: readonly WorkerRole[]; // default: all
  sandbox?: RunConfig['sandbox']; // overrides the configuration of runs
  device?: Device; // the engine's device; overrides the configuration of runs
  log?: Logger;
  /** The build of this worker's code. With a build id, the worker takes only work of its own deployment version. */
  buildId?: string;
  /** Path of the workflow bundle; default: the bundle of this version. */
  workflows?: string;
  /** What activities depend on; default: opened with the options above. */
  deps?: (searchAttributes: boolean) => Promise<OpenDeps>;
  /** Outermost interceptors of every activity. */
  activityInterceptors?: ActivityInterceptorsFactory[];
  /** Prints a line for people, e.g. which sandbox is used; by default, the line goes to the log. */
  say?: (line: string) => void;
  /** Called when a run begins to wait for a decision, fails, or is retried again and again. After a crash, it may be called again. */
  onAttention?: (need: Need) => void;
  /** ADDRESS:PORT at which this process serves metrics; only the first workers of a process can set it. */
  metrics?: string;
}

export interface RunningWorkers {
  /** Settles when the workers have stopped; rejects if one died, or with NO_PROGRESS if an activity hangs. */
  run: Promise<void>;
  /** Waits the grace period for running activities, cancels them, and closes the engine and the sandbox. */
  shutdown(): Promise<void>;
}

const DEFAULT_GRACE_SECONDS = 3; // short, because Ctrl-C should end a command soon
const CLOSE_MS = 5_000; // the longest wait for a model to close, because a hanging model never does

/** How many activities run at a time. A model call or a batch of programs uses the whole machine; CPU activities are small. */
const CONCURRENT: Record<Exclude<WorkerRole, 'orchestrator'>, number> = { gpu: 1, sandbox: 1, cpu: 4 };

export async function startWorkers(options: StartOptions): Promise<RunningWorkers> {
  const { roles = WORKER_ROLES, namespace, log = createLogger() } = options;
  const graceSeconds = secondsOf('GAUNTLET_GRACE_SECONDS', process.env, DEFAULT_GRACE_SECONDS);
  const boundMs = hangBound();
  if (options.device && roles.includes('gpu')) await resolveDevice(options.device); // fails now if the device is missing
  installRuntime(log, options.metrics);
  const tracing = await openTracing();
  const connection = await connect(options.connection);
  const workers: Worker[] = [];
  let opened: OpenDeps | undefined;
  let claim: FolderClaim | undefined;
  const lost: PromiseRejectedResult[] = [];
  const stopping = new AbortController();
  const stop = (): void => {
    stopping.abort();
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const fail = (reason: unknown): void => {
    lost.push({ status: 'rejected', reason });
    stop();
  };
  try {
    const searchAttributes = await knowsSearchAttributes(connection, namespace);
    opened = await (options.deps?.(searchAttributes) ?? openDeps({ ...options, searchAttributes, log }));
    const metrics = options.metrics === undefined ? undefined : openMetrics();
    const observers = [progressObserver, tracing?.observer, metrics?.observer].filter((each) => each !== undefined);
    const deps: Deps = Object.assign(observedDeps(opened.deps, observers), {
      stopping: stopping.signal,
      ...(metrics && { onMetrics: metrics.onMetrics }),
    });
    if (!options.deps && !isS3(options.store)) claim = await claimFolder(storePlace(options.store));
    // A sandbox that was chosen by name must fail now if it is missing, not at the first test.
    if (options.sandbox && roles.includes('sandbox')) await opened.deps.sandbox({ sandbox: options.sandbox });
    const own = { graceSeconds, boundMs, log, onHang: fail };
    for (const role of roles)
      for (const each of await workerOptions(role, connection, deps, { ...options, ...own }, tracing))
        workers.push(await Worker.create(each));
  } catch (error) {
    await opened?.close();
    await connection.close();
    await claim?.release();
    throw error;
  }
  // If one worker dies, all stop: with some queues served, the process would only look alive.
  const runs = workers.map((worker) => worker.run().finally(stop));
  claim?.lost.catch(fail);
  const run = Promise.allSettled(runs).then(async (ended) => {
    const settled = [...lost, ...ended];
    const closing = opened?.close();
    await (lost.length === 0 ? closing : Promise.race([closing, sleep(CLOSE_MS, undefined, { ref: false })]));
    await connection.close();
    await claim?.release();
    for (const result of settled) if (result.status === 'rejected') throw result.reason;
  });
  run.catch(() => undefined); // avoids an unhandled rejection; callers await `run`
  return {
    run,
    shutdown: async () => {
      stop();
      await run.catch(() => undefined);
    },
  };
}

interface RoleOptions extends StartOptions {
  graceSeconds: number;
  boundMs: number; // an activity that is silent for longer hangs
  log: Logger;
  onHang(error: GauntletError): void;
}

async function workerOptions(
  role: WorkerRole,
  connection: NativeConnection,
  deps: Deps,
  options: RoleOptions,
  tracing: Tracing | undefined,
): Promise<WorkerOptions[]> {
  const { namespace, buildId, workflows, activityInterceptors = [], graceSeconds, boundMs, log, onHang } = options;
  const common = {
    connection,
    namespace,
    // An unversioned worker's build id takes no part in routing; the history records it.
    ...(buildId === undefined ? { buildId: deps.codeVersion } : { workerDeploymentOptions: versioned(buildId) }),
    taskQueue: TASK_QUEUES[role],
    identity: `${process.pid}@${PLACE}`,
    shutdownGraceTime: 1000 * graceSeconds,
    dataConverter: dataConverter(process.env),
    workflowTaskPollerBehavior: { type: 'autoscaling' },
    activityTaskPollerBehavior: { type: 'autoscaling' },
  } as const;
  if (role === 'orchestrator') {
    // After this time, workflow tasks of a killed worker move to another worker.
    const codePath = workflows ?? (await workflowBundle());
    const sinks = attentionSinks(deps.store, log, options.onAttention);
    return [{ ...common, workflowBundle: { codePath }, sinks, stickyQueueScheduleToStartTimeout: '2s' }];
  }
  const traced = tracing ? [tracing.activityInterceptor] : [];
  const turns = role === 'gpu' ? new ModelTurns() : undefined;
  const watch = new HangWatch(
    (error) => {
      turns?.close(toFailure(error));
      onHang(error);
    },
    log,
    boundMs,
  );
  const turn = turns ? [inTurn(turns)] : []; // before `watched`, because waiting is no hang
  const activities = createActivities(deps, beating, ...turn, watched(watch));
  const serving: WorkerOptions = {
    ...common,
    activities,
    interceptors: {
      activity: [retryTeller((need) => options.onAttention?.(need)), ...traced, ...activityInterceptors],
    },
    maxConcurrentActivityTaskExecutions: CONCURRENT[role],
    maxHeartbeatThrottleInterval: '1s',
  };
  if (turns === undefined) return [serving];
  const claim = { queue: ownQueue(), buildId };
  // The private queue is not versioned: only workers of the current build give its name to runs.
  const { workerDeploymentOptions: _, ...own } = serving;
  return [
    { ...serving, activities: { ...activities, ...claiming(turns, claim) } },
    { ...own, taskQueue: claim.queue },
  ];
}

/** A run moves to the current build at its next workflow task. */
const versioned = (buildId: string): WorkerDeploymentOptions => ({
  version: { deploymentName: DEPLOYMENT, buildId },
  useWorkerVersioning: true,
  defaultVersioningBehavior: 'AUTO_UPGRADE',
});

async function connect(settings: ConnectionSettings): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(forWorker(settings));
  } catch (error) {
    const message = `no Temporal server answers at ${settings.address}`;
    throw new GauntletError('SERVER_UNAVAILABLE', message, { cause: error });
  }
}

/** If the server does not have the search attributes, runs do not write them. */
async function knowsSearchAttributes(connection: NativeConnection, namespace: string): Promise<boolean> {
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return Object.keys(SEARCH_ATTRIBUTES).every((name) => customAttributes?.[name] !== undefined);
  } catch {
    return false;
  }
}

let installed = false;

/** The SDK has one runtime per process. The caller handles process signals. */
export function installRuntime(logger: Logger, metrics?: string): void {
  if (installed) return;
  const prometheus = metrics && { bindAddress: metrics, histogramBucketOverrides: HISTOGRAM_BUCKETS };
  try {
    Runtime.install({
      shutdownSignals: [],
      telemetryOptions: {
        logging: { filter: 'WARN', forward: {} },
        ...(prometheus && { metrics: { prometheus } }),
      },
      logger: new DefaultLogger('TRACE', ({ level, message, meta }) => {
        // Expected: each role serves only workflows or only activities.
        if (!/^No .* registered/.test(message)) logger[level.toLowerCase() as 'info'](meta ?? {}, message);
      }),
    });
  } catch (error) {
    if (metrics === undefined) throw error;
    const reason = /[^:]*$/.exec((error as Error).message)![0].trim();
    const code = /in use/.test(reason) ? 'PORT_TAKEN' : 'BAD_INPUT';
    throw new GauntletError(code, `cannot serve metrics at ${metrics}: ${reason}`, { cause: error });
  }
  installed = true;
}

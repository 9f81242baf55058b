// Runs the tiny preset with its own server and workers, like `gauntlet train`, and measures where the time goes: calls of
// model, sandbox and store are timed inside activities, everything else comes from the histories.
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { resolveConfig } from '../../../core/presets.js';
import { TASK_QUEUES } from '../../../core/queues.js';
import { countSteps } from '../../../core/schedule.js';
import type { RunConfigInput, SandboxKind } from '../../../core/schema/config.js';
import { forClient } from '../../../infra/proxy.js';
import { ensureServer } from '../../../infra/temporalServer.js';
import { type OpenDeps, openDeps } from '../../../workers/deps.js';
import { createLogger } from '../../../workers/logger.js';
import { startWorkers } from '../../../workers/start.js';
import { type HistoryEvent, historiesOf, timeOf } from './histories.js';
import { attribute, type Span, Stopwatch, WORK, type Work, watchedDeps } from './spans.js';

/** The parts of a run's time; the first match counts. */
export const PARTS = [
  ...WORK,
  'activity code', // parsing, rewards, JSON: in an activity, outside model, sandbox and store
  'workflow code', // a worker processes a workflow task
  'activity dispatch', // from the server's queue to a worker
  'activity transport', // transfer and recording of input and result
  'workflow dispatch', // a workflow task from the server to a worker
  'other', // the server starts the run, or its next execution
] as const;
export type Part = (typeof PARTS)[number];

export interface OrchestrationFigures {
  wallSeconds: number; // from the first to the last event
  seconds: Record<Part, number>;
  overhead: number; // share of the wall time without work of model, sandbox or store
  steps: number;
  activities: number;
  events: number; // of all histories of the run
}

export interface MeasureOptions {
  folder: string; // of server and store
  config: RunConfigInput;
  sandbox?: SandboxKind | undefined;
  say(line: string): void;
  /** Default: the real ones. */
  deps?: (searchAttributes: boolean) => Promise<OpenDeps>;
}

export async function measureOrchestration(options: MeasureOptions): Promise<OrchestrationFigures> {
  const { folder, config, sandbox, say } = options;
  const watch = new Stopwatch(WORK);
  const activities = new Stopwatch(['activity']);
  const env = { ...process.env, TEMPORAL_ADDRESS: undefined, TEMPORAL_PROFILE: undefined };
  const server = await ensureServer({ storeDir: folder, port: 0, uiPort: 0, env });
  const store = join(folder, 'store');
  const open = options.deps ?? ((searchAttributes) => openDeps({ store, searchAttributes, say, sandbox }));
  const workers = await startWorkers({
    connection: server.connection,
    namespace: server.namespace,
    store,
    log: createLogger('error'),
    deps: async (searchAttributes) => {
      const opened = await open(searchAttributes);
      return { ...opened, deps: watchedDeps(opened.deps, watch) };
    },
    activityInterceptors: [
      () => ({
        inbound: {
          execute: (input, next) => activities.time('activity', () => next(input)),
        } satisfies ActivityInboundCallsInterceptor,
      }),
    ],
  });
  const connection = await Connection.connect(forClient(server.connection));
  try {
    const client = new Client({ connection, namespace: server.namespace });
    const handle = await client.workflow.start('trainFullPipeline', {
      taskQueue: TASK_QUEUES.orchestrator,
      workflowId: 'run',
      args: [config],
    });
    await handle.result();
    const events = (await historiesOf(client, 'run')).flat();
    return {
      ...figuresOf(events, watch.spans, activities.spans.activity),
      steps: countSteps(resolveConfig(config)),
    };
  } finally {
    await workers.shutdown();
    await connection.close();
    await server.close();
  }
}

/** @param events of all executions of one run, in order */
export function figuresOf(
  events: readonly HistoryEvent[],
  work: Record<Work, readonly Span[]>,
  activities: readonly Span[],
): Omit<OrchestrationFigures, 'steps'> {
  const times = events.map(timeOf);
  const whole: Span = [Math.min(...times), Math.max(...times)];
  const spans = spansOf(events);
  const layers = [
    ...WORK.map((kind) => work[kind]),
    activities,
    spans.workflowTasks,
    spans.activityDispatch,
    spans.activityRuns,
    spans.workflowDispatch,
  ];
  const spent = attribute(whole, layers);
  const seconds = Object.fromEntries(PARTS.map((part, i) => [part, spent[i]! / 1000])) as Record<Part, number>;
  const wallSeconds = (whole[1] - whole[0]) / 1000;
  const worked = WORK.reduce((sum, kind) => sum + seconds[kind], 0);
  return {
    wallSeconds,
    seconds,
    overhead: 1 - worked / wallSeconds,
    activities: spans.activityRuns.length,
    events: events.length,
  };
}

/** From one event of a task to its next one. Event ids are unique within one history, and no task spans two. */
function spansOf(events: readonly HistoryEvent[]) {
  const spans = {
    activityDispatch: [] as Span[],
    activityRuns: [] as Span[],
    workflowDispatch: [] as Span[],
    workflowTasks: [] as Span[],
  };
  let at = new Map<string, number>();
  for (const event of events) {
    if (event.workflowExecutionStartedEventAttributes) at = new Map(); // the next history
    at.set(String(event.eventId), timeOf(event));
    const activityEnd =
      event.activityTaskCompletedEventAttributes ??
      event.activityTaskFailedEventAttributes ??
      event.activityTaskTimedOutEventAttributes;
    const taskEnd = event.workflowTaskCompletedEventAttributes ?? event.workflowTaskFailedEventAttributes;
    for (const [into, id] of [
      [spans.activityDispatch, event.activityTaskStartedEventAttributes?.scheduledEventId],
      [spans.activityRuns, activityEnd?.startedEventId],
      [spans.workflowDispatch, event.workflowTaskStartedEventAttributes?.scheduledEventId],
      [spans.workflowTasks, taskEnd?.startedEventId],
    ] as const) {
      const from = id ? at.get(String(id)) : undefined;
      if (from !== undefined) into.push([from, timeOf(event)]);
    }
  }
  return spans;
}

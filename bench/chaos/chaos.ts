// One chaos run: an undisturbed run in this process, the same run under kills at seeded random moments, and the
// comparison of everything that both left.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createActivities } from '../../activities/index.js';
import { TASK_QUEUES, WORKER_ROLES } from '../../core/queues.js';
import { RandomStream } from '../../core/random.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { openDeps } from '../../workers/deps.js';
import { runPipeline } from '../../workflows/pipeline.js';
import { differences, outcomeOf } from './outcome.js';
import { World, type WorldOptions } from './world.js';

export interface ChaosOptions extends WorldOptions {
  kills: number;
  config: RunConfigInput;
  /** Between two kills, ms: at least and at most. */
  pause: [number, number];
}

export interface ChaosFigures {
  seed: number;
  kills: Record<string, number>; // by victim
  killed: number;
  compared: number; // digests and figures
  differences: string[];
  orphans: { processes: number; containers: number };
  attempts: number; // of activities, beyond the first of each
  activities: number;
  recovery: { median: number; p90: number; max: number }; // seconds from a kill to the next result in the store
  undisturbedSeconds: number;
  disturbedSeconds: number;
}

const RUN = 'run';

export async function chaos(options: ChaosOptions): Promise<ChaosFigures> {
  const { folder, seed, log } = options;
  const calm = join(folder, 'undisturbed');
  const undisturbedSeconds = await undisturbed(calm, options);
  log(`undisturbed: ${undisturbedSeconds.toFixed(0)} s`);

  const world = new World(options);
  const started = performance.now();
  const kills: Record<string, number> = {};
  const recoveries: number[] = [];
  await world.open();
  try {
    const { client } = world;
    await (await client).workflow.start('trainFullPipeline', {
      taskQueue: TASK_QUEUES.orchestrator,
      workflowId: RUN,
      args: [options.config],
    });
    const random = new RandomStream('chaos', seed);
    let running = true;
    const ended = untilEnded(world).finally(() => {
      running = false;
    });
    let killed = 0;
    while (running && killed < options.kills) {
      const [least, most] = options.pause;
      await Promise.race([ended, sleep(random.int(least, most))]);
      if (!running) break;
      const victim = random.choice(victims(options));
      const before = lastResult(options.store);
      const at = performance.now();
      if (!(await strike(world, victim))) continue;
      killed++;
      kills[victim] = (kills[victim] ?? 0) + 1;
      while (running && lastResult(options.store) <= before) await sleep(20);
      if (running) recoveries.push((performance.now() - at) / 1000);
      log(`${killed}/${options.kills} ${victim}: next result after ${((performance.now() - at) / 1000).toFixed(1)} s`);
    }
    await ended;
    const disturbedSeconds = (performance.now() - started) / 1000;
    const { attempts, activities } = await repeated(world);
    await world.close();
    await sleep(1000);
    const expected = await outcomeOf(calm, RUN);
    const actual = await outcomeOf(options.store, RUN);
    recoveries.sort((a, b) => a - b);
    const quantile = (q: number): number =>
      recoveries[Math.min(recoveries.length - 1, Math.floor(q * recoveries.length))] ?? 0;
    return {
      seed,
      kills,
      killed,
      compared: expected.size,
      differences: differences(expected, actual),
      orphans: {
        processes: world.orphans().length,
        containers: options.sandbox === 'docker' ? (await world.containers()).length : 0,
      },
      attempts,
      activities,
      recovery: { median: quantile(0.5), p90: quantile(0.9), max: quantile(1) },
      undisturbedSeconds,
      disturbedSeconds,
    };
  } finally {
    await world.close();
  }
}

async function undisturbed(store: string, { config, sandbox }: ChaosOptions): Promise<number> {
  const started = performance.now();
  const { deps, close } = await openDeps({ store, sandbox, say: () => undefined });
  try {
    await runPipeline(createActivities(deps), RUN, config);
  } finally {
    await close();
  }
  return (performance.now() - started) / 1000;
}

const victims = ({ tmpfs }: ChaosOptions): string[] => [
  ...WORKER_ROLES,
  ...WORKER_ROLES, // twice as likely as the rest
  'server',
  'sandbox guest',
  'everything',
  ...(tmpfs ? ['disk'] : []),
];

/** False where there was nothing to strike. */
async function strike(world: World, victim: string): Promise<boolean> {
  if (victim === 'sandbox guest') return world.killSandbox();
  if (victim === 'disk') {
    await world.fillDisk(2000);
    return true;
  }
  if (victim === 'server') {
    await world.killServer();
    return true;
  }
  const roles = WORKER_ROLES.filter((role) => victim === 'everything' || role === victim);
  const struck = roles.map((role) => world.killWorker(role)).some(Boolean);
  if (victim === 'everything') await world.killServer();
  return struck;
}

/** The result, however often the server goes away meanwhile. */
async function untilEnded(world: World): Promise<void> {
  for (;;) {
    try {
      await (await world.client).workflow.getHandle(RUN).result();
      return;
    } catch (error) {
      if (
        !/UNAVAILABLE|DEADLINE|shut down|closed|CANCELLED|Failed to connect|Service error/i.test(
          String((error as Error).message),
        )
      )
        throw error;
      await sleep(200);
    }
  }
}

/** When the latest memo was written: activities that ended leave one. ms */
function lastResult(store: string): number {
  const times = ['memo', join('runs', RUN, 'metrics')].map((folder) => {
    try {
      return Math.max(statSync(join(store, folder)).mtimeMs, readdirSync(join(store, folder)).length === 0 ? 0 : 1);
    } catch {
      return 0;
    }
  });
  return Math.max(...times);
}

/** From the histories of the run and its stages, those before they continued as new included. */
async function repeated(world: World): Promise<{ attempts: number; activities: number }> {
  const client = await world.client;
  let attempts = 0;
  let activities = 0;
  for await (const { workflowId, runId } of client.workflow.list({ query: `WorkflowId STARTS_WITH '${RUN}'` })) {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    for (const { activityTaskStartedEventAttributes: started } of events ?? []) {
      if (!started) continue;
      activities++;
      attempts += (started.attempt ?? 1) - 1;
    }
  }
  return { attempts, activities };
}

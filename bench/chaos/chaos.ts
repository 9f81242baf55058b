// One chaos run: an undisturbed run in this process, the same run with kills at seeded random moments, and a comparison
// of everything that both wrote.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowFailedError } from '@temporalio/client';
import { createActivities } from '../../activities/index.js';
import { TASK_QUEUES } from '../../core/queues.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { kindOfRow } from '../../store/memo.js';
import { openDeps } from '../../workers/deps.js';
import { runPipeline } from '../../workflows/pipeline.js';
import { type ChaosFigures, spreadOf } from './figures.js';
import { executionsOf, recovery, repeatedWork } from './histories.js';
import { instrumented } from './instrument.js';
import { damageOf, differences, outcomeOf } from './outcome.js';
import { OwnDocker } from './ownDocker.js';
import { planStrikes, type Victim } from './plan.js';
import { World } from './world.js';

export interface ChaosOptions {
  folder: string; // for all files of this chaos run
  store: string; // of the disturbed run; with `disk`, on a file system that can be filled
  disk: boolean;
  sandbox: 'wasm' | 'docker';
  storeFaults: number; // share of the store's writes that fail
  seed: number;
  kills: number;
  config: RunConfigInput;
  signal?: AbortSignal;
  log(line: string): void;
}

export const RUN = 'run';
export const calmStore = (folder: string): string => join(folder, 'undisturbed');
const STANDSTILL_MS = 300_000; // without a new result for so long, the run is lost

export async function chaos(options: ChaosOptions): Promise<ChaosFigures> {
  const { folder, sandbox, log } = options;
  const docker = sandbox === 'docker' ? new OwnDocker(folder) : undefined;
  const world = new World({ ...options, docker });
  try {
    await docker?.open();
    const calm = await undisturbed(calmStore(folder), options, docker?.host);
    log(`undisturbed: ${calm.seconds.toFixed(0)} s, ${calm.results} results`);
    options.signal?.throwIfAborted();
    return await disturbed(world, options, calm);
  } finally {
    await world.close().catch((error: Error) => log(`cannot end everything: ${error.message}`));
  }
}

interface Calm {
  seconds: number;
  tokens: number;
  results: number;
}

async function disturbed(world: World, options: ChaosOptions, calm: Calm): Promise<ChaosFigures> {
  const { kills: asked, seed, sandbox, store, log } = options;
  const started = performance.now();
  await world.open();
  await (await world.client()).workflow.start('trainFullPipeline', {
    taskQueue: TASK_QUEUES.orchestrator,
    workflowId: RUN,
    args: [options.config],
  });
  const run = new Run(world, store, options.signal);
  const struck: { victim: Victim; at: number }[] = [];
  for (const strike of planStrikes({ ...options, results: calm.results })) {
    await run.until(strike.after);
    await Promise.race([run.ended, sleep(strike.delay)]);
    if (run.over) break;
    const at = await world.strike(strike);
    if (at === undefined || run.over) continue; // no victim, or the run has ended
    struck.push({ victim: strike.victim, at });
    log(`${struck.length}/${asked} ${strike.victim} after ${resultsIn(store)} of ${calm.results} results`);
  }
  await run.until(Number.POSITIVE_INFINITY);
  const endedAt = Date.now();
  const disturbedSeconds = (performance.now() - started) / 1000;
  const executions = await executionsOf(await world.client(), RUN);
  const orphans = await world.close();

  const expected = await outcomeOf(calmStore(options.folder), RUN);
  const actual = await outcomeOf(store, RUN).catch((error: Error) => new Map([['unreadable', error.message]]));
  const recoveries = struck.map(({ victim, at }) => ({ victim, seconds: recovery(at, executions, endedAt) }));
  const { attempts, seconds } = repeatedWork(executions);
  const victims = [...new Set(struck.map(({ victim }) => victim))].sort();
  const of = (victim: Victim): number[] => recoveries.filter((one) => one.victim === victim).map((one) => one.seconds);
  return {
    seed,
    sandbox,
    asked,
    killed: struck.length,
    kills: Object.fromEntries(victims.map((victim) => [victim, of(victim).length])),
    atWrite: world.atWrite,
    storeFaults: world.faults,
    forgotten: world.forgotten,
    workersStarted: world.workersStarted,
    compared: expected.size,
    differences: differences(expected, actual),
    damaged: await damageOf(store),
    orphans,
    repeated: {
      activities: executions.length,
      attempts: Object.values(attempts).reduce((sum, count) => sum + count, 0),
      byActivity: attempts,
      seconds,
      tokens: { undisturbed: calm.tokens, disturbed: world.tokens },
    },
    recovery: {
      ...spreadOf(recoveries.map((one) => one.seconds)),
      byVictim: Object.fromEntries(victims.map((victim) => [victim, spreadOf(of(victim)).median])),
    },
    undisturbedSeconds: calm.seconds,
    disturbedSeconds,
  };
}

async function undisturbed(store: string, { config, sandbox }: ChaosOptions, dockerHost?: string): Promise<Calm> {
  const before = process.env.DOCKER_HOST;
  if (dockerHost !== undefined) process.env.DOCKER_HOST = dockerHost;
  const started = performance.now();
  let tokens = 0;
  const { deps, close } = await openDeps({ store, sandbox, say: () => undefined });
  const heard = instrumented(deps, (notice) => {
    if (notice.kind === 'tokens') tokens += notice.amount;
  });
  try {
    await runPipeline(createActivities(heard), RUN, config);
  } finally {
    await close();
    if (before === undefined) delete process.env.DOCKER_HOST;
    else process.env.DOCKER_HOST = before;
  }
  return { seconds: (performance.now() - started) / 1000, tokens, results: resultsIn(store) };
}

/** The progress of the run. */
class Run {
  over = false;
  readonly ended: Promise<void>;

  constructor(
    private readonly world: World,
    private readonly store: string,
    private readonly signal?: AbortSignal,
  ) {
    this.ended = this.result().finally(() => {
      this.over = true;
    });
    this.ended.catch(() => undefined); // avoids an unhandled rejection; `until` awaits it
  }

  /** Returns when the run has `results` results, or has completed. @throws if the run fails or makes no progress */
  async until(results: number): Promise<void> {
    let seen = -1;
    for (let since = Date.now(); !this.over; await Promise.race([this.ended, sleep(20)])) {
      this.signal?.throwIfAborted();
      const now = resultsIn(this.store);
      if (now >= results) return;
      if (now !== seen) since = Date.now();
      seen = now;
      if (Date.now() - since > STANDSTILL_MS)
        throw new Error(`lost: the run has no new result for ${STANDSTILL_MS / 1000} s`);
    }
    await this.ended;
  }

  /** Tries again whenever the server is gone. */
  private async result(): Promise<void> {
    for (;;) {
      try {
        await (await this.world.client()).workflow.getHandle(RUN).result();
        return;
      } catch (error) {
        if (error instanceof WorkflowFailedError) throw error;
        await sleep(200);
      }
    }
  }
}

/** The number of completed activities. */
function resultsIn(store: string): number {
  try {
    return readdirSync(join(store, 'memo')).filter((key) => kindOfRow(key).kind === 'result').length;
  } catch {
    return 0; // nothing yet
  }
}

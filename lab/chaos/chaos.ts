// Makes one chaos run: an undisturbed run in this process, then the same run with kills at seeded random moments. Compares
// everything that both wrote.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunConfigInput } from '../../core/schema/config.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import { type ChaosFigures, spreadOf } from './figures.js';
import { executionsOf, recovery, repeatedWork } from './histories.js';
import { damageOf, differences, outcomeOf } from './outcome.js';
import { OwnDocker } from './ownDocker.js';
import { planStrikes, type Victim } from './plan.js';
import { type Calm, RUN, Run, resultsIn, undisturbed } from './run.js';
import { World } from './world.js';

export interface ChaosOptions {
  folder: string; // the folder for all files of this chaos run
  store: string; // the store of the disturbed run; with `disk`, it is on a file system that can be filled
  disk: boolean;
  sandbox: 'wasm' | 'docker';
  storeFaults: number; // the share of the store's writes that fail
  seed: number;
  kills: number;
  config: RunConfigInput;
  signal?: AbortSignal;
  log(line: string): void;
}

const calmStore = (folder: string): string => join(folder, 'undisturbed');

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

async function disturbed(world: World, options: ChaosOptions, calm: Calm): Promise<ChaosFigures> {
  const { kills: asked, seed, sandbox, store, log } = options;
  const started = performance.now();
  await world.open();
  await (await world.client()).workflow.start('trainFullPipeline', {
    taskQueue: TASK_QUEUES.orchestrator,
    workflowId: RUN,
    args: [options.config],
  });
  const run = new Run(
    () => world.client(),
    () => resultsIn(store),
    options.signal,
  );
  const struck: { victim: Victim; at: number }[] = [];
  for (const strike of planStrikes({ ...options, results: calm.results })) {
    await run.until(strike.after);
    await Promise.race([run.ended, sleep(strike.delay)]);
    if (run.over) break;
    const at = await world.strike(strike);
    if (at === undefined || run.over) continue; // there was no victim, or the run has ended
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

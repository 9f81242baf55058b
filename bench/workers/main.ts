// `npm run bench -- workers`: how much faster several gpu workers sample and train the batches of one run. Each worker has
// one thread, so that workers of one machine are like machines of one core, as long as there are cores.

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stepMetricsSchema } from '../../core/schema/metrics.js';
import { ROOT } from '../../infra/root.mjs';
import { readRecord } from '../../store/memo.js';
import { openStore } from '../../store/openStore.js';
import { readMetrics } from '../../store/runs.js';
import { firstAnswer, start, stop } from '../commands.js';
import { BUSY, describeMachine } from '../machine.js';
import { BenchError, commandLine, FLAG, LIST, positive, readFlags, TEXT } from '../options.js';
import { saveJson, table } from '../results.js';

const USAGE = `npm run bench -- workers [options]
  --workers LIST      numbers of gpu workers (default 1,2,4)
  --preset NAME       of the run (default smollm2-135m)
  --set FIELD=VALUE   a setting of all runs (may be repeated)
  --out FILE          write results as JSON (default .cache/bench/workers.json)`;

const UPDATES = new Set(['scoreOldPolicy', 'updatePolicy']);

export interface WorkerFigures {
  workers: number;
  sampling: number; // seconds of the run's training steps
  training: number; // scoring and updates
  seconds: number; // of all activities of these steps
}

export async function benchWorkers(args: string[]): Promise<void> {
  const flags = readFlags(args, { workers: TEXT, preset: TEXT, set: LIST, out: TEXT, help: FLAG });
  if (flags.help) return console.log(USAGE);
  const counts = (flags.workers ?? '1,2,4').split(',').map((text) => positive('workers', text, { max: 64 }));
  const machine = describeMachine();
  const say = (line: string): void => console.error(`bench: ${line}`);
  if (machine.loadAtStart > BUSY) say(`WARNING: load ${machine.loadAtStart}: other programs are running`);
  const shards = Math.max(...counts);
  const assignments = [`engine.shards=${shards}`, ...(flags.set ?? [])];
  const all: WorkerFigures[] = [];
  for (const workers of counts) {
    const figures = await measure(workers, flags.preset ?? 'smollm2-135m', assignments);
    say(`${workers} workers: ${JSON.stringify(figures)}`);
    all.push(figures);
  }
  const command = commandLine(['workers', ...args]);
  saveJson(flags.out ?? join(ROOT, '.cache', 'bench', 'workers.json'), { command, machine, shards, all });
  console.log(speedUps(all));
}

/** Speed-ups over the first row. */
export function speedUps(all: readonly WorkerFigures[]): string {
  const [one] = all;
  const over = (name: 'sampling' | 'training' | 'seconds', row: WorkerFigures): string =>
    `${row[name].toFixed(1)} s (${(one![name] / row[name]).toFixed(2)}×)`;
  const rows = all.map((row) => [`${row.workers}`, over('sampling', row), over('training', row), over('seconds', row)]);
  return table(['gpu workers', 'sampling', 'training', 'steps'], rows);
}

/** Runs once with a server and workers of its own. */
async function measure(workers: number, preset: string, assignments: readonly string[]): Promise<WorkerFigures> {
  const store = mkdtempSync(join(tmpdir(), 'gauntlet-workers-'));
  const env: NodeJS.ProcessEnv = { ...process.env, GAUNTLET_LOG: 'error', GAUNTLET_THREADS: '1' };
  for (const name of Object.keys(env)) if (/^(OTEL_|TEMPORAL_)/.test(name)) delete env[name];
  const running = [start(['up', '--store', store, '--port', '0', '--ui-port', '0'], env)]; // with one gpu worker
  try {
    await firstAnswer(running[0]!, 'up');
    for (let i = 1; i < workers; i++) {
      running.push(start(['worker', '--role', 'gpu', '--store', store], env));
      await firstAnswer(running.at(-1)!, 'worker');
    }
    const set = assignments.flatMap((assignment) => ['--set', assignment]);
    const train = start(['train', 'run', '--store', store, '--preset', preset, '--watch', ...set], env);
    running.push(train);
    train.stdout!.resume();
    const [code] = await once(train, 'close');
    if (code !== 0) throw new BenchError(`gauntlet train ended with exit code ${code}`);
    return await figuresOf(workers, store);
  } finally {
    for (const child of running.reverse()) await stop(child);
    rmSync(store, { recursive: true, force: true });
  }
}

async function figuresOf(workers: number, folder: string): Promise<WorkerFigures> {
  const store = await openStore(folder);
  const steps = (await readMetrics(store, 'run')).flatMap((record) => stepMetricsSchema.safeParse(record).data ?? []);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const records = await Promise.all((await store.memoKeys()).map((key) => readRecord(store, key)));
  const updates = records.flatMap((record) => (record && UPDATES.has(record.name) ? [record.seconds] : []));
  return {
    workers,
    sampling: sum(steps.map(({ sampledTokens, tokensPerSecond }) => sampledTokens / tokensPerSecond)),
    training: sum(updates),
    seconds: sum(steps.map(({ seconds }) => seconds)),
  };
}

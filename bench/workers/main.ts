// `npm run bench -- workers`: how much faster several gpu workers sample and train the batches of one run, and what
// `npm run simulate` predicts. Each worker has one thread, so that workers of one machine are like machines of one core, as
// long as there are cores.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { forClient } from '../../infra/proxy.js';
import { ROOT } from '../../infra/root.mjs';
import { firstAnswer, start, stop } from '../commands.js';
import { describeIdleMachine, say } from '../machine.js';
import { BenchError, commandLine, FLAG, LIST, positive, readFlags, TEXT } from '../options.js';
import { historiesOf } from '../orchestration/histories.js';
import { saveJson, table } from '../results.js';
import { readRunFigures } from '../simulate/against.js';
import { predictRun } from '../simulate/main.js';
import { MODELS } from '../simulate/parts.js';
import type { Phase } from '../simulate/simulate.js';
import { type PhaseSeconds, phaseSeconds } from './phases.js';

const USAGE = `npm run bench -- workers [options]
  --workers LIST      numbers of gpu workers (default 1,2,4)
  --preset NAME       of the run (default smollm2-135m)
  --model NAME        ${Object.keys(MODELS).join(', ')}: the model of the predictions (default that of tiny and smollm2-135m)
  --set FIELD=VALUE   a setting of all runs (may be repeated)
  --out FILE          write results as JSON (default .cache/bench/workers.json)`;

const SIMULATED: Record<string, string> = { tiny: 'tiny', 'smollm2-135m': '135M' };

export interface WorkerFigures {
  workers: number;
  measured: PhaseSeconds; // of a mean step
  predicted?: PhaseSeconds;
}

export async function benchWorkers(args: string[]): Promise<void> {
  const flags = readFlags(args, { workers: TEXT, preset: TEXT, model: TEXT, set: LIST, out: TEXT, help: FLAG });
  if (flags.help) return console.log(USAGE);
  const counts = (flags.workers ?? '1,2,4').split(',').map((text) => positive('workers', text, { max: 64 }));
  const preset = flags.preset ?? 'smollm2-135m';
  const model = flags.model ?? SIMULATED[preset];
  const machine = describeIdleMachine();
  const shards = Math.max(...counts);
  const assignments = [`engine.shards=${shards}`, ...(flags.set ?? [])];
  const all: WorkerFigures[] = [];
  for (const workers of counts) {
    const figures = await measure(workers, preset, assignments, model);
    say(`${workers} workers: ${JSON.stringify(figures)}`);
    all.push(figures);
  }
  const command = commandLine(['workers', ...args]);
  saveJson(flags.out ?? join(ROOT, '.cache', 'bench', 'workers.json'), { command, machine, shards, all });
  console.log(speedUps(all));
}

/** Seconds of a mean step, and speed-ups over the first row. */
export function speedUps(all: readonly WorkerFigures[]): string {
  const cells = (of: 'measured' | 'predicted', row: WorkerFigures): string[] =>
    (['sampling', 'training', 'all'] as const).map((name) => {
      const [first, own] = [all[0]![of], row[of]];
      return first && own ? `${own[name].toPrecision(3)} s (${(first[name] / own[name]).toFixed(2)}×)` : '–';
    });
  const rows = all.map((row) => [`${row.workers}`, ...cells('measured', row), ...cells('predicted', row)]);
  const names = ['sampling', 'training', 'step'];
  return table(['gpu workers', ...names, ...names.map((name) => `${name}, predicted`)], rows);
}

/** Runs once with a server and workers of its own. */
async function measure(
  workers: number,
  preset: string,
  assignments: readonly string[],
  model?: string,
): Promise<WorkerFigures> {
  const store = mkdtempSync(join(tmpdir(), 'gauntlet-workers-'));
  const env: NodeJS.ProcessEnv = { ...process.env, GAUNTLET_LOG: 'error', GAUNTLET_THREADS: '1' };
  for (const name of Object.keys(env)) if (/^(OTEL_|TEMPORAL_)/.test(name)) delete env[name];
  const running = [start(['up', '--store', store, '--port', '0', '--ui-port', '0'], env)]; // with one gpu worker
  try {
    const { address } = await firstAnswer<{ address: string }>(running[0]!, 'up');
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
    const run = await readRunFigures(store, 'run');
    const total = phaseSeconds(await eventsOf(address));
    const measured = { sampling: 0, training: 0, all: 0 };
    for (const name of ['sampling', 'training', 'all'] as const) measured[name] = total[name] / run.steps;
    return { workers, measured, ...(model && { predicted: grouped(predictRun(run, model, workers).phases) }) };
  } finally {
    for (const child of running.reverse()) await stop(child);
    rmSync(store, { recursive: true, force: true });
  }
}

async function eventsOf(address: string) {
  const connection = await Connection.connect(forClient({ address }));
  try {
    return (await historiesOf(new Client({ connection }), 'run')).flat();
  } finally {
    await connection.close();
  }
}

const SAMPLING = ['sample chains', 'sample tests'];
const TRAINING = ['score', 'gradients', 'reduce', 'record'];

function grouped(phases: readonly Phase[]): PhaseSeconds {
  const sum = (names: readonly string[]): number =>
    phases.reduce((total, { name, seconds }) => total + (names.includes(name) ? seconds : 0), 0);
  const others = phases.map(({ name }) => name).filter((name) => name !== 'evaluate');
  return { sampling: sum(SAMPLING), training: sum(TRAINING), all: sum(others) };
}

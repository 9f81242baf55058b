// `npm run bench -- orchestration`: the share of a run in which no model, sandbox or store works, and its events a step.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { RunConfigInput } from '../../core/schema/config.js';
import { packageRoot } from '../../data/paths.js';
import { BUSY, busySeconds, describeMachine } from '../machine.js';
import { BenchError } from '../options.js';
import { withResults } from '../results.js';
import { measureOrchestration, type OrchestrationFigures } from './measure.js';
import { type OrchestrationResults, orchestrationMarkdown } from './table.js';

export const ORCHESTRATION_USAGE = `npm run bench -- orchestration [options]
  --stages N      stages of the tiny preset that are trained, the first N (default 5: the whole preset)
  --runs N        runs, each on a fresh server and store (default 1)
  --sandbox KIND  auto | docker | wasm (default auto)
  --out FILE      results as JSON (default .cache/bench/orchestration.json)
  --record        also into bench/results.json and bench/BENCHMARKS.md`;

export interface OrchestrationOptions {
  stages: number;
  runs: number;
  sandbox: 'auto' | 'docker' | 'wasm';
  out?: string;
  record: boolean;
  help: boolean;
}

const SANDBOXES = ['auto', 'docker', 'wasm'] as const;

/** @throws {BenchError} naming the flag */
export function parseOrchestrationOptions(args: string[]): OrchestrationOptions {
  const values = read(args);
  const sandbox = SANDBOXES.find((kind) => kind === (values.sandbox ?? 'auto'));
  if (sandbox === undefined) throw new BenchError(`--sandbox must be one of ${SANDBOXES.join(', ')}`, 2);
  return {
    stages: count('stages', values.stages ?? '5', 5),
    runs: count('runs', values.runs ?? '1', 100),
    sandbox,
    ...(values.out && { out: values.out }),
    record: values.record === true,
    help: values.help === true,
  };
}

function read(args: string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    const options = { stages: text, runs: text, sandbox: text, out: text, record: flag, help: flag };
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new BenchError((error as Error).message.split('. ')[0]!, 2);
  }
}

function count(flag: string, text: string, most: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > most)
    throw new BenchError(`--${flag} must be a whole number from 1 to ${most}, is ${text}`, 2);
  return value;
}

const root = packageRoot();
const say = (line: string): void => console.error(`bench: ${line}`);

export async function benchOrchestration(args: string[]): Promise<void> {
  const options = parseOrchestrationOptions(args);
  if (options.help) return console.log(ORCHESTRATION_USAGE);
  const machine = describeMachine();
  if (machine.loadAtStart > BUSY) say(`WARNING: load ${machine.loadAtStart}: other programs are at work`);
  const [busy, paused] = [busySeconds(), performance.now()];
  await sleep(500);
  const foreignCores = (busySeconds() - busy) / ((performance.now() - paused) / 1000);
  const started = new Date();
  let sandbox = '';
  const runs: OrchestrationFigures[] = [];
  for (let run = 0; run < options.runs; run++) {
    const folder = mkdtempSync(join(tmpdir(), 'gauntlet-orchestration-'));
    try {
      const figures = await measureOrchestration({
        ...{ folder, config: configOf(options.stages), sandbox: options.sandbox },
        say: (line) => {
          sandbox = line;
          say(line);
        },
      });
      runs.push(figures);
      say(`run ${run + 1}: ${figures.wallSeconds.toFixed(1)} s, overhead ${(100 * figures.overhead).toFixed(2)} %`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  const results: OrchestrationResults = {
    command: commandLine(options),
    startedAt: started.toISOString(),
    seconds: (Date.now() - started.getTime()) / 1000,
    ...{ machine, foreignCores, sandbox, runs },
  };
  save(options.out ?? join(root, '.cache', 'bench', 'orchestration.json'), results);
  if (options.record) record(results);
  console.log(orchestrationMarkdown(results));
}

const configOf = (stages: number): RunConfigInput => ({
  preset: 'tiny',
  ...(stages === 5 ? {} : { schedule: { stages: [1, 2, 3, 4, 5].slice(0, stages) as never } }),
});

function commandLine({ stages, runs, sandbox, record }: OrchestrationOptions): string {
  return [
    'npm run bench -- orchestration',
    ...(stages === 5 ? [] : [`--stages ${stages}`]),
    ...(runs === 1 ? [] : [`--runs ${runs}`]),
    ...(sandbox === 'auto' ? [] : [`--sandbox ${sandbox}`]),
    ...(record ? ['--record'] : []),
  ].join(' ');
}

/** Into the page and the file beside it, where all other figures stay as they are. */
function record(results: OrchestrationResults): void {
  const file = join(root, 'bench', 'results.json');
  const earlier = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as object) : {};
  save(file, { ...earlier, orchestration: results });
  const page = join(root, 'bench', 'BENCHMARKS.md');
  writeFileSync(page, withResults(readFileSync(page, 'utf8'), orchestrationMarkdown(results), 'orchestration'));
}

function save(file: string, results: object): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
}

// `npm run bench -- orchestration`: the share of a run's time without work of model, sandbox or store, and its events per step.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunConfigInput, SANDBOXES, type SandboxKind } from '../../../core/schema/config.js';
import { ROOT } from '../../../infra/root.mjs';
import { busySeconds, describeIdleMachine, say } from '../machine.js';
import { BenchError, commandLine, FLAG, positive, readFlags, TEXT } from '../options.js';
import { recordPart, saveJson } from '../results.js';
import { measureOrchestration, type OrchestrationFigures } from './measure.js';
import { type OrchestrationResults, orchestrationMarkdown } from './table.js';

export const ORCHESTRATION_USAGE = `npm run bench -- orchestration [options]
  --stages N      train the first N stages of the tiny preset (default 5: all)
  --runs N        number of runs, each with a new server and store (default 1)
  --sandbox KIND  auto | docker | wasm (default auto)
  --out FILE      write results as JSON (default .cache/bench/orchestration.json)
  --record        also update lab/bench/results.json and lab/bench/BENCHMARKS.md`;

export interface OrchestrationOptions {
  stages: number;
  runs: number;
  sandbox: SandboxKind;
  out?: string;
  record: boolean;
  help: boolean;
}

/** @throws {BenchError} naming the flag */
export function parseOrchestrationOptions(args: string[]): OrchestrationOptions {
  const flags = { stages: TEXT, runs: TEXT, sandbox: TEXT, out: TEXT, record: FLAG, help: FLAG };
  const values = readFlags(args, flags);
  const sandbox = SANDBOXES.find((kind) => kind === (values.sandbox ?? 'auto'));
  if (sandbox === undefined) throw new BenchError(`--sandbox must be one of ${SANDBOXES.join(', ')}`, 2);
  return {
    stages: positive('stages', values.stages ?? '5', { max: 5 }),
    runs: positive('runs', values.runs ?? '1', { max: 100 }),
    sandbox,
    ...(values.out && { out: values.out }),
    record: values.record === true,
    help: values.help === true,
  };
}

export async function benchOrchestration(args: string[]): Promise<void> {
  const options = parseOrchestrationOptions(args);
  if (options.help) return console.log(ORCHESTRATION_USAGE);
  const machine = describeIdleMachine();
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
        folder,
        config: configOf(options.stages),
        sandbox: options.sandbox,
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
    command: commandLine(['orchestration', ...args]),
    startedAt: started.toISOString(),
    seconds: (Date.now() - started.getTime()) / 1000,
    machine,
    foreignCores,
    sandbox,
    runs,
  };
  saveJson(options.out ?? join(ROOT, '.cache', 'bench', 'orchestration.json'), results);
  const text = orchestrationMarkdown(results);
  if (options.record) recordPart('orchestration', results, text);
  console.log(text);
}

const configOf = (stages: number): RunConfigInput => ({
  preset: 'tiny',
  ...(stages === 5 ? {} : { schedule: { stages: [1, 2, 3, 4, 5].slice(0, stages) as never } }),
});

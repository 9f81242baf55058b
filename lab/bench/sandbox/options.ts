// The command line of `npm run bench -- sandbox`.
import { BenchError, FLAG, LIST, positive, readFlags, TEXT } from '../options.js';
import { CONTENDERS, type Contender } from './contenders.js';

const NAMES = Object.keys(CONTENDERS) as Contender[];

export const SANDBOX_USAGE = `npm run bench -- sandbox [options]
  --only PART         only contenders whose name contains PART (repeatable): ${NAMES.join(' | ')}
  --in-flight LIST    concurrent executions (default 1,2,4)
  --rounds N          number of rounds (default 5)
  --round-seconds N   approximate time of a contender per round (default 0.8)
  --venv DIR          a Python environment with pytest (or GAUNTLET_BENCH_VENV; default: created in .cache)
  --out FILE          write results as JSON (default .cache/bench/sandbox.json)
  --record            also update lab/bench/results.json and lab/bench/BENCHMARKS.md`;

export interface SandboxOptions {
  contenders: Contender[];
  levels: number[];
  rounds: number;
  roundSeconds: number;
  venv?: string;
  out?: string;
  record: boolean;
  help: boolean;
}

/** @throws {BenchError} naming the flag */
export function parseSandboxOptions(args: string[], env: NodeJS.ProcessEnv = process.env): SandboxOptions {
  const values = readFlags(args, {
    only: LIST,
    record: FLAG,
    help: FLAG,
    'in-flight': TEXT,
    rounds: TEXT,
    'round-seconds': TEXT,
    venv: TEXT,
    out: TEXT,
  });
  const only = values.only ?? [];
  const contenders = NAMES.filter((name) => only.length === 0 || only.some((part) => name.includes(part)));
  if (contenders.length === 0) throw new BenchError(`no contender has ${only.join(' or ')} in its name: see --help`, 2);
  return {
    contenders,
    levels: (values['in-flight'] ?? '1,2,4').split(',').map((text) => positive('in-flight', text)),
    rounds: positive('rounds', values.rounds ?? '5'),
    roundSeconds: positive('round-seconds', values['round-seconds'] ?? '0.8', { whole: false }),
    venv: values.venv ?? (env.GAUNTLET_BENCH_VENV || undefined),
    out: values.out,
    record: values.record === true,
    help: values.help === true,
  };
}

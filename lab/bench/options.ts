// Reads the command line of the benchmarks.
import { FLAG, LabError, LIST, positive, readFlags, TEXT } from '../flags.js';
import { CONTENDERS, type Contender } from './cases.js';

export const USAGE = `npm run bench -- [options]                  models
npm run bench -- real [options]             SmolLM2-135M-Instruct: decoding, training and a whole step
npm run bench -- gpu [options]              what one NVIDIA card does, next to torch on the same card
  --quick             only the most important cases, two rounds each
  --only PART         cases whose name contains PART (may be repeated)
  --without NAMES     contenders to skip: torch, llama (comma-separated)
  --rounds N          at most N rounds per case (default 7; growth 3)
  --seconds N         time limit per case, after three rounds (default 60)
  --threads N         cores per contender (default: all)
  --venv DIR          a Python environment with the peers (or GAUNTLET_BENCH_VENV); default: created in .cache
  --out FILE          file for the results as JSON (default .cache/bench/results.json)
  --record            also write lab/bench/results.json and lab/bench/BENCHMARKS.md
  --list              list the cases without running them`;

export interface BenchOptions {
  quick: boolean;
  only: string[];
  contenders: Contender[];
  rounds: number;
  seconds: number;
  threads?: number;
  venv?: string;
  out?: string;
  record: boolean;
  list: boolean;
  help: boolean;
}

/** @throws {LabError} naming the flag */
export function parseOptions(args: string[], env: NodeJS.ProcessEnv = process.env): BenchOptions {
  const values = readFlags(args, {
    quick: FLAG,
    record: FLAG,
    list: FLAG,
    help: FLAG,
    only: LIST,
    without: LIST,
    rounds: TEXT,
    seconds: TEXT,
    threads: TEXT,
    venv: TEXT,
    out: TEXT,
  });
  const without = (values.without ?? [])
    .flatMap((names) => names.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const unknown = without.find((name) => name === 'ours' || !CONTENDERS.includes(name as Contender));
  if (unknown !== undefined) throw new LabError(`--without ${unknown}: only torch and llama can be left out`, 2);
  return {
    quick: values.quick === true,
    only: values.only ?? [],
    contenders: CONTENDERS.filter((name) => !without.some((left) => name === left || name.startsWith(`${left}-`))),
    rounds: positive('rounds', values.rounds ?? (values.quick ? '2' : '7')),
    seconds: positive('seconds', values.seconds ?? '60'),
    threads: values.threads === undefined ? undefined : positive('threads', values.threads),
    venv: values.venv ?? (env.GAUNTLET_BENCH_VENV || undefined),
    out: values.out,
    record: values.record === true,
    list: values.list === true,
    help: values.help === true,
  };
}

const PLACES = ['--venv', '--out'];

/** The command that repeats a benchmark on another machine: its arguments without paths of this machine. */
export function commandLine(args: string[]): string {
  const kept = args.filter((arg, i) => !PLACES.some((flag) => arg.startsWith(flag) || args[i - 1] === flag));
  const quoted = kept.map((arg) => (/^[\w,.=-]+$/.test(arg) ? arg : `'${arg}'`));
  return ['npm run bench', ...(quoted.length > 0 ? ['--', ...quoted] : [])].join(' ');
}

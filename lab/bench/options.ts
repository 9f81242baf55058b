// The command line of the benchmarks.
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { CONTENDERS, type Contender } from './cases.js';

export const USAGE = `npm run bench -- [options]                  models
npm run bench -- real [options]             SmolLM2-135M-Instruct: decoding, training and a whole step
npm run bench -- sandbox [options]          executions of programs
npm run bench -- dashboard [options]        how fast the pages answer, and their CPU time
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

/** An error that ends the program with one line and this exit code. */
export class BenchError extends Error {
  constructor(
    message: string,
    readonly exitCode = 1,
  ) {
    super(message);
  }
}

/** @throws {BenchError} naming the flag */
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
  if (unknown !== undefined) throw new BenchError(`--without ${unknown}: only torch and llama can be left out`, 2);
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

const PLACES = ['--venv', '--out', '--from'];

/** The command that repeats a benchmark elsewhere: its arguments without paths of this machine. */
export function commandLine(args: string[]): string {
  const kept = args.filter((arg, i) => !PLACES.some((flag) => arg.startsWith(flag) || args[i - 1] === flag));
  const quoted = kept.map((arg) => (/^[\w,.=-]+$/.test(arg) ? arg : `'${arg}'`));
  return ['npm run bench', ...(quoted.length > 0 ? ['--', ...quoted] : [])].join(' ');
}

export const FLAG = { type: 'boolean' } as const;
export const TEXT = { type: 'string' } as const;
export const LIST = { type: 'string', multiple: true } as const;

/** @throws {BenchError} with one line that names the unknown or incomplete flag */
export function readFlags<const T extends NonNullable<ParseArgsConfig['options']>>(args: string[], options: T) {
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new BenchError((error as Error).message.split('. ')[0]!, 2);
  }
}

/** @throws {BenchError} naming the flag */
export function positive(flag: string, text: string, { whole = true, max = Number.MAX_SAFE_INTEGER } = {}): number {
  const value = Number(text);
  if (value > 0 && value <= max && (!whole || Number.isSafeInteger(value))) return value;
  const limit = max === Number.MAX_SAFE_INTEGER ? '' : ` of at most ${max}`;
  throw new BenchError(`--${flag} must be a positive ${whole ? 'integer' : 'number'}${limit}, is ${text}`, 2);
}

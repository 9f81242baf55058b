// The command line of the benchmarks.
import { parseArgs } from 'node:util';
import { CONTENDERS, type Contender } from './cases.js';

export const USAGE = `npm run bench -- [options]                  models
npm run bench -- sandbox [options]          executions of programs
npm run bench -- orchestration [options]    the overhead of a run besides model, sandbox and store
  --quick             only the most important cases, two rounds each
  --only PART         cases whose name contains PART (may be repeated)
  --without NAMES     contenders to skip: torch, llama (comma-separated)
  --rounds N          at most N rounds per case (default 7; growth 3)
  --seconds N         time limit per case, after three rounds (default 60)
  --threads N         cores per contender (default: all)
  --venv DIR          a Python environment with the peers (or GAUNTLET_BENCH_VENV); default: created in .cache
  --out FILE          file for the results as JSON (default .cache/bench/results.json)
  --record            also write bench/results.json and bench/BENCHMARKS.md
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
  let values: ReturnType<typeof parse>['values'];
  try {
    values = parse(args).values;
  } catch (error) {
    throw new BenchError((error as Error).message.split('. ')[0]!, 2);
  }
  const without = (values.without ?? [])
    .flatMap((names) => names.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const unknown = without.find((name) => name === 'ours' || !CONTENDERS.includes(name as Contender));
  if (unknown !== undefined) throw new BenchError(`--without ${unknown}: only torch and llama can be left out`, 2);
  return {
    quick: values.quick === true,
    only: values.only ?? [],
    contenders: CONTENDERS.filter((name) => !without.includes(name)),
    rounds: positive('rounds', values.rounds) ?? (values.quick ? 2 : 7),
    seconds: positive('seconds', values.seconds) ?? 60,
    threads: positive('threads', values.threads),
    venv: values.venv ?? (env.GAUNTLET_BENCH_VENV || undefined),
    out: values.out,
    record: values.record === true,
    list: values.list === true,
    help: values.help === true,
  };
}

/** The command that repeats the run on another machine, without paths of this one. */
export function commandLine(options: BenchOptions): string {
  const { quick, only, contenders, threads, record } = options;
  const without = CONTENDERS.filter((name) => !contenders.includes(name));
  const usual = parseOptions(quick ? ['--quick'] : [], {});
  const flags = [
    ...(quick ? ['--quick'] : []),
    ...only.map((part) => `--only '${part}'`),
    ...(without.length > 0 ? [`--without ${without.join(',')}`] : []),
    ...(['rounds', 'seconds'] as const).flatMap((name) =>
      options[name] === usual[name] ? [] : [`--${name} ${options[name]}`],
    ),
    ...(threads === undefined ? [] : [`--threads ${threads}`]),
    ...(record ? ['--record'] : []),
  ];
  return ['npm run bench', ...(flags.length > 0 ? ['--', ...flags] : [])].join(' ');
}

function parse(args: string[]) {
  return parseArgs({
    args,
    options: {
      quick: { type: 'boolean' },
      only: { type: 'string', multiple: true },
      without: { type: 'string', multiple: true },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      threads: { type: 'string' },
      venv: { type: 'string' },
      out: { type: 'string' },
      record: { type: 'boolean' },
      list: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
}

function positive(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new BenchError(`--${flag} must be a positive integer, is ${text}`, 2);
  return value;
}

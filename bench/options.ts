// The command line of the benchmarks.
import { parseArgs } from 'node:util';
import { CONTENDERS, type Contender } from './cases.js';

export const USAGE = `npm run bench -- [options]                  models
npm run bench -- sandbox [options]          executions of programs
npm run bench -- orchestration [options]    what a run costs beside model, sandbox and store
  --quick             the cases that matter most, two rounds each
  --only PART         cases whose name contains PART (may be repeated)
  --without NAMES     contenders to leave out: torch, llama (comma-separated)
  --rounds N          at most N rounds of a case (default 7; growth 3)
  --seconds N         a case ends after N seconds once it has three rounds (default 60)
  --threads N         cores each side may use (default: all)
  --venv DIR          a Python environment that has the peers (or GAUNTLET_BENCH_VENV); absent: made in .cache
  --out FILE          results as JSON (default .cache/bench/results.json)
  --record            also into bench/results.json and bench/BENCHMARKS.md
  --list              the cases, without running them`;

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

/** Ends the program with one line and exit code 2 or 1. */
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
  if (unknown !== undefined) throw new BenchError(`--without ${unknown}: torch and llama can be left out`, 2);
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

/** What repeats the run elsewhere: without the places of files on this machine. */
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

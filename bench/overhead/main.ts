// `npm run bench -- overhead`: how much slower the tiny preset is while somebody watches it: its page open in a browser,
// traces to a local receiver, and metrics that are read. Runs alone and watched runs take turns.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../data/paths.js';
import { meanOf } from '../experiments/statistics.js';
import { BUSY, describeMachine } from '../machine.js';
import { BenchError, commandLine, FLAG, LIST, positive, readFlags, TEXT } from '../options.js';
import { saveJson } from '../results.js';
import { measureRun, type RunFigures } from './measure.js';

const USAGE = `npm run bench -- overhead [options]
  --pairs N           pairs of runs, one alone and one watched (default 5)
  --set FIELD=VALUE   a setting of all runs (may be repeated)
  --sandbox KIND      auto | docker | wasm (default auto)
  --out FILE          write results as JSON (default .cache/bench/overhead.json)`;

export interface Pair {
  alone: RunFigures;
  watched: RunFigures;
}

export interface Ratio {
  value: number; // geometric mean of watched / alone
  low: number; // 95 % interval; NaN for one pair
  high: number;
}

/** Of the time of a watched run to that of the run alone beside it. */
export function ratioOf(pairs: readonly Pair[]): Ratio {
  const { value, half } = meanOf(pairs.map(({ alone, watched }) => Math.log(watched.seconds / alone.seconds)));
  return { value: Math.exp(value), low: Math.exp(value - half), high: Math.exp(value + half) };
}

const say = (line: string): void => console.error(`bench: ${line}`);

export async function benchOverhead(args: string[]): Promise<void> {
  const flags = readFlags(args, { pairs: TEXT, set: LIST, sandbox: TEXT, out: TEXT, help: FLAG });
  if (flags.help) return console.log(USAGE);
  const count = positive('pairs', flags.pairs ?? '5', { max: 100 });
  const machine = describeMachine();
  if (machine.loadAtStart > BUSY) say(`WARNING: load ${machine.loadAtStart}: other programs are running`);
  const pairs: Pair[] = [];
  const run = async (isWatched: boolean): Promise<RunFigures> => {
    const folder = mkdtempSync(join(tmpdir(), 'gauntlet-overhead-'));
    try {
      return await measureRun(
        { folder, assignments: flags.set ?? [], sandbox: flags.sandbox ?? 'auto', say },
        isWatched,
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  for (let pair = 0; pair < count; pair++) {
    const isWatchedFirst = pair % 2 === 1; // so that a drift of the machine cancels out
    const [first, second] = [await run(isWatchedFirst), await run(!isWatchedFirst)];
    pairs.push(isWatchedFirst ? { alone: second, watched: first } : { alone: first, watched: second });
  }
  const missing = pairs.find(({ watched }) => Object.values(watched.received!).includes(0));
  if (missing) throw new BenchError(`a watched run was not watched: ${JSON.stringify(missing.watched.received)}`);
  const ratio = ratioOf(pairs);
  const command = commandLine(['overhead', ...args]);
  saveJson(flags.out ?? join(packageRoot(), '.cache', 'bench', 'overhead.json'), { command, machine, pairs, ratio });
  const interval = count > 1 ? ` (95 % interval ${ratio.low.toFixed(3)} to ${ratio.high.toFixed(3)})` : '';
  console.log(`watched / alone: ${ratio.value.toFixed(3)}${interval}, ${count} pairs of runs`);
}

// `npm run bench -- overhead`: how much slower the tiny preset is while somebody watches it (its page open in a browser,
// traces to a local receiver, and metrics that are read), or with its store in S3. Plain runs and others take turns.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../../infra/root.mjs';
import { meanOf } from '../../experiments/statistics.js';
import { describeIdleMachine, say } from '../machine.js';
import { BenchError, commandLine, FLAG, LIST, positive, readFlags, TEXT } from '../options.js';
import { saveJson } from '../results.js';
import { KINDS, type Kind, measureRun, type RunFigures } from './measure.js';

const USAGE = `npm run bench -- overhead [options]
  --of KIND           watched (default), or s3: the store in an S3 server on this machine
  --pairs N           pairs of runs, a plain one and one of this kind (default 5)
  --set FIELD=VALUE   a setting of all runs (may be repeated)
  --sandbox KIND      auto | docker | wasm (default auto)
  --out FILE          write results as JSON (default .cache/bench/overhead.json)`;

export interface Pair {
  plain: RunFigures;
  other: RunFigures;
}

export interface Ratio {
  value: number; // geometric mean of other / plain
  low: number; // 95 % interval; NaN for one pair
  high: number;
}

/** Of the time of a run to that of the plain run beside it. */
export function ratioOf(pairs: readonly Pair[]): Ratio {
  const { value, half } = meanOf(pairs.map(({ plain, other }) => Math.log(other.seconds / plain.seconds)));
  return { value: Math.exp(value), low: Math.exp(value - half), high: Math.exp(value + half) };
}

/** CPU time of the watchers as shares of all cores, and that of watched runs relative to plain ones. */
export function sharesOf(pairs: readonly Pair[], cores: number) {
  const sum = (of: (pair: Pair) => number): number => pairs.reduce((total, pair) => total + of(pair), 0);
  const capacity = cores * sum(({ other }) => other.seconds);
  return {
    dashboard: sum(({ other }) => other.cpu.dashboard) / capacity,
    browser: sum(({ other }) => other.cpu.browser) / capacity,
    run: sum(({ other }) => other.cpu.run) / sum(({ plain }) => plain.cpu.run),
  };
}

export async function benchOverhead(args: string[]): Promise<void> {
  const flags = readFlags(args, { of: TEXT, pairs: TEXT, set: LIST, sandbox: TEXT, out: TEXT, help: FLAG });
  if (flags.help) return console.log(USAGE);
  const kind = kindIn(flags.of ?? 'watched');
  const count = positive('pairs', flags.pairs ?? '5', { max: 100 });
  const machine = describeIdleMachine();
  const pairs: Pair[] = [];
  const run = async (own: Kind | 'plain'): Promise<RunFigures> => {
    const folder = mkdtempSync(join(tmpdir(), 'gauntlet-overhead-'));
    try {
      return await measureRun({ folder, assignments: flags.set ?? [], sandbox: flags.sandbox ?? 'auto', say }, own);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  for (let pair = 0; pair < count; pair++) {
    const isPlainFirst = pair % 2 === 0; // so that a drift of the machine cancels out
    const [first, second] = [await run(isPlainFirst ? 'plain' : kind), await run(isPlainFirst ? kind : 'plain')];
    pairs.push(isPlainFirst ? { plain: first, other: second } : { plain: second, other: first });
  }
  const missing = pairs.find(({ other }) => Object.values(other.received ?? {}).includes(0));
  if (missing) throw new BenchError(`a watched run was not watched: ${JSON.stringify(missing.other.received)}`);
  const ratio = ratioOf(pairs);
  const shares = sharesOf(pairs, machine.cores);
  const command = commandLine(['overhead', ...args]);
  saveJson(flags.out ?? join(ROOT, '.cache', 'bench', 'overhead.json'), { command, machine, pairs, ratio, shares });
  const interval = count > 1 ? ` (95 % interval ${ratio.low.toFixed(3)} to ${ratio.high.toFixed(3)})` : '';
  console.log(`${kind} / plain: ${ratio.value.toFixed(3)}${interval}, ${count} pairs of runs`);
  const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
  console.log(`CPU time of server and workers: ${shares.run.toFixed(3)} times that of plain runs`);
  if (kind === 'watched')
    console.log(`share of all cores: dashboard ${percent(shares.dashboard)}, browser ${percent(shares.browser)}`);
}

function kindIn(name: string): Kind {
  const kind = KINDS.find((known) => known === name);
  if (kind) return kind;
  throw new BenchError(`--of must be ${KINDS.join(' or ')}, is ${name}`, 2);
}

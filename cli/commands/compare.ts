// `gauntlet compare`: test results of runs as means over seeds with intervals, and the difference between two settings.
import type { Command } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import { type Mean, meanOf, pairedDifference } from '../../core/evaluation/seeds.js';
import type { EvaluationRates } from '../../core/schema/run.js';
import { differingKeys } from '../../store/canonicalJson.js';
import { openStore } from '../../store/openStore.js';
import { type RunManifest, readResult, readRun } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import { chooseRun } from '../input/naming.js';
import { jsonOption } from '../input/options.js';
import { type StoreFlags, withStore } from '../run/session.js';
import { commandLine } from '../terminal/commandLine.js';
import { createOutput, tableText } from '../terminal/output.js';
import { RATES } from '../terminal/results.js';

/** Runs by seed, which differ in the seed only. */
type Group = Map<number, RunManifest & { rates: EvaluationRates }>;

export function addCompare(program: Command): void {
  const command = program
    .command('compare')
    .description('mean and 95 % interval over runs with different seeds, and the difference between two settings')
    .argument('<runs...>', 'finished runs that differ in their seed only')
    .option('--against <runs...>', 'runs of another setting; the difference is paired: both have runs of the same seed')
    .addOption(jsonOption());
  withStore(command, 'reads').action(async (runs: string[], flags: StoreFlags & { against?: string[] }) => {
    const output = createOutput(flags.json);
    const store = await openStore(flags.store);
    const group = await readGroup(store, runs);
    const other = flags.against && (await readGroup(store, flags.against));
    const pairs = [...group].flatMap(([seed, one]) => (other?.has(seed) ? [[other.get(seed)!, one] as const] : []));
    if (other && pairs.length === 0)
      throw new GauntletError(
        'BAD_INPUT',
        '--against: the two settings have no seed in common: train both with the same seeds',
      );
    if (other) output.note(`the settings differ in: ${differences(...pairs[0]!) || 'nothing'}`);
    const metrics = RATES.map(([label, key]) => {
      const mean = (of: Group): Mean => meanOf([...of.values()].flatMap(({ rates }) => rates[key] ?? []));
      const known = pairs.filter((pair) => pair.every(({ rates }) => rates[key] !== undefined));
      const [before, after] = ([0, 1] as const).map((side) => known.map((pair) => pair[side].rates[key]!));
      const compared = other && { against: mean(other), difference: pairedDifference(before!, after!) };
      return { label, metric: key, mean: mean(group), ...compared };
    });
    output.result({ runs, against: flags.against, metrics }, () => {
      const head = ['held-out problems', 'n', 'mean', ...(other ? ['n', 'against', 'pairs', 'difference'] : [])];
      const rows = metrics.map(({ label, mean, against, difference }) => [
        label,
        ...[mean, against, difference].flatMap((one) => (one ? [one.count, text(one, one === difference)] : [])),
      ]);
      const isOne = metrics.some(({ mean, difference }) => (difference ?? mean).count === 1);
      const caution = isOne ? '\nn = 1: nothing can be said about other seeds' : '';
      return `${tableText(head, rows)}\nmean ± 95 % interval over seeds (Student's t)${caution}`;
    });
  });
}

function text({ value, half, count }: Mean, isDifference: boolean): string {
  if (count === 0) return '–';
  const interval = half > 0 ? ` ± ${(100 * half).toFixed(1)}` : ''; // equal seeds are no certainty
  const shown = `${(100 * value).toFixed(1)}${interval}`;
  if (!isDifference) return `${shown} %`;
  const noise = count > 1 && Math.abs(value) <= half ? ' (within the noise)' : '';
  return `${value >= 0 ? '+' : ''}${shown} points${noise}`;
}

/** @throws GauntletError if runs have one seed, differ in more than the seed, or have no result */
async function readGroup(store: Store, named: string[]): Promise<Group> {
  const group: Group = new Map();
  for (const run of named) {
    const manifest = await readRun(store, await chooseRun(store, run));
    const { result } = await readResult(store, run);
    const [first = manifest] = group.values();
    const other = differences(first, manifest);
    if (other !== '') throw new GauntletError('BAD_INPUT', `run '${run}' differs from '${first.runId}' in: ${other}`);
    if (group.has(manifest.seed))
      throw new GauntletError(
        'BAD_INPUT',
        `run '${run}' has the seed of another run (${manifest.seed}): name one of them`,
      );
    const way = commandLine(`resume ${run} --watch`);
    if (!result)
      throw new GauntletError('BAD_INPUT', `run '${run}' has not ended; if it does not run, continue it with: ${way}`);
    group.set(manifest.seed, { ...manifest, rates: result.after });
  }
  return group;
}

/** What differs between two runs, without their seeds. */
function differences(a: RunManifest, b: RunManifest): string {
  const fields = differingKeys(a.config, b.config).filter((field) => field !== 'seed');
  if (a.dataDigest !== b.dataDigest) fields.push('problems');
  if (a.modelDigest !== b.modelDigest) fields.push('model');
  return [...new Set(fields)].join(', ');
}

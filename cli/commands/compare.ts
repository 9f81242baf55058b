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

/** Runs that differ in their seed only. */
interface Group {
  manifest: RunManifest;
  rates: Map<number, EvaluationRates>;
}

export function addCompare(program: Command): void {
  const command = program
    .command('compare')
    .description('mean and 95 % interval over runs with different seeds, and the difference between two settings')
    .argument('<runs...>', 'finished runs that differ in their seed only')
    .option('--against <runs...>', 'runs of another setting; the difference is paired: both have runs of the same seed')
    .addOption(jsonOption());
  withStore(command, 'reads').action(async (named: string[], flags: StoreFlags & { against?: string[] }) => {
    const output = createOutput(flags.json);
    const store = await openStore(flags.store);
    const group = await readGroup(store, named);
    const other = flags.against && (await readGroup(store, flags.against));
    const seeds = other && [...group.rates.keys()].filter((seed) => other.rates.has(seed));
    if (seeds?.length === 0)
      throw new GauntletError('BAD_INPUT', '--against: no run has a seed of the other runs: train pairs with one seed');
    if (other) output.note(`the settings differ in: ${differences(group.manifest, other.manifest) || 'nothing'}`);
    const metrics = RATES.map(([label, key]) => {
      const valuesOf = ({ rates }: Group, of: number[] = [...rates.keys()]): number[] =>
        of.flatMap((seed) => rates.get(seed)![key] ?? []);
      const paired = seeds?.filter((seed) => [group, other!].every(({ rates }) => rates.get(seed)![key] !== undefined));
      const mean = meanOf(valuesOf(group));
      const against = other && meanOf(valuesOf(other));
      const difference = paired && pairedDifference(valuesOf(other!, paired), valuesOf(group, paired));
      return { label, metric: key, mean, against, difference };
    });
    output.result({ runs: named, against: flags.against, metrics }, () => {
      const head = ['held-out problems', 'n', 'mean', ...(other ? ['n', 'against', 'pairs', 'difference'] : [])];
      const rows = metrics.map(({ label, mean, against, difference }) => [
        label,
        ...[mean, against, difference].flatMap((one) => one && [one.count, text(one, one === difference)]),
      ]);
      const least = Math.min(...metrics.flatMap(({ mean, difference }) => (difference ?? mean).count || []));
      const caution = least === 1 ? '\nn = 1: nothing can be said about other seeds' : '';
      return `${tableText(head, rows as string[][])}\nmean ± 95 % interval over seeds (Student's t)${caution}`;
    });
  });
}

function text({ value, half, count }: Mean, isDifference: boolean): string {
  if (count === 0) return '–';
  const sign = isDifference && value >= 0 ? '+' : '';
  const interval = count === 1 ? '' : ` ± ${(100 * half).toFixed(1)}`;
  const noise = isDifference && count > 1 && Math.abs(value) <= half ? ' (within the noise)' : '';
  return `${sign}${(100 * value).toFixed(1)}${interval} ${isDifference ? 'points' : '%'}${noise}`;
}

/** @throws GauntletError if runs have one seed, differ in more than the seed, or have no result */
async function readGroup(store: Store, named: string[]): Promise<Group> {
  const rates: Group['rates'] = new Map();
  let first: RunManifest | undefined;
  for (const run of named) {
    const manifest = await readRun(store, await chooseRun(store, run));
    const { result } = await readResult(store, run);
    first ??= manifest;
    const other = differences(first, manifest);
    if (other !== '') throw new GauntletError('BAD_INPUT', `run '${run}' differs from '${first.runId}' in: ${other}`);
    if (rates.has(manifest.seed))
      throw new GauntletError(
        'BAD_INPUT',
        `run '${run}' has the seed of another run (${manifest.seed}): name one of them`,
      );
    const way = commandLine(`resume ${run} --watch`);
    if (!result) throw new GauntletError('NOT_FOUND', `run '${run}' has no result yet; continue it with: ${way}`);
    rates.set(manifest.seed, result.after);
  }
  return { manifest: first!, rates };
}

/** Fields of the configuration in which two runs differ, without their seeds. */
function differences(a: RunManifest, b: RunManifest): string {
  const fields = differingKeys(a.config, b.config).filter((field) => field !== 'seed');
  const files = [
    ...(a.dataDigest === b.dataDigest ? [] : ['problems']),
    ...(a.modelDigest === b.modelDigest ? [] : ['model']),
  ];
  return [...new Set([...fields, ...files])].join(', ');
}

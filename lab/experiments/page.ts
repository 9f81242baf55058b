// The tables of docs/evidence.md, computed from the records.
import type { MetricName } from '../../core/evaluation/metrics.js';
import { type Mean, meanOf, pairedDifference } from '../../core/evaluation/seeds.js';
import { between, table } from '../table.js';
import { ARMS, FAMILIES } from './arms.js';
import type { ExperimentRecord } from './records.js';

/** Fills the page with the present records. @throws Error if the page has no place for them */
export const withRecords = (page: string, records: readonly ExperimentRecord[]): string =>
  between(page, 'experiments', tables(records));

function tables(records: readonly ExperimentRecord[]): string {
  if (records.length === 0) return 'No record yet.';
  const parts = FAMILIES.flatMap((family) => {
    const own = records.filter((record) => record.family === family);
    return own.length === 0 ? [] : [`## Family \`${family}\``, ...familyTables(own)];
  });
  return parts.join('\n\n');
}

/** Makes a table with the seeds of the method, a table of arms at equal updates, and a table of arms at equal tokens. */
function familyTables(records: readonly ExperimentRecord[]): string[] {
  const method = records.filter(({ arm }) => arm === 'method');
  const arms = (['updates', 'tokens'] as const).flatMap((equal) => {
    const others = records.filter((record) => record.equal === equal && record.arm !== 'method');
    return others.length === 0 ? [] : [`### At equal ${equal}`, armTable([...method, ...others], records)];
  });
  return [...(method.length === 0 ? [] : ['### Seeds of the method', seedTable(method)]), ...arms];
}

function seedTable(method: readonly ExperimentRecord[]): string {
  const change = (before = Number.NaN, after = Number.NaN): string => `${percent(before)} → ${percent(after)}`;
  const rows = method.map(({ seed, metrics, before, after, seconds }) => [
    ...[`${seed}`, percent(metrics['pass@1'] ?? Number.NaN), change(before.greedyPassRate, after.greedyPassRate)],
    ...[change(before.testValidity, after.testValidity), change(before.bugCatchRate, after.bugCatchRate)],
    `${Math.round(seconds)} s`,
  ]);
  const mean = (of: (record: ExperimentRecord) => number): string => withInterval(meanOf(method.map(of)));
  const total = [
    ...['**mean**', mean(({ metrics }) => metrics['pass@1']!), mean(({ after }) => after.greedyPassRate)],
    ...[mean(({ after }) => after.testValidity ?? 0), mean(({ after }) => after.bugCatchRate ?? 0), ''],
  ];
  return table(['seed', 'pass@1', 'greedy', 'valid tests', 'bugs caught', 'training'], [...rows, total]);
}

/** @param all the records of the family, including those that the arms are compared with */
function armTable(records: readonly ExperimentRecord[], all: readonly ExperimentRecord[]): string {
  const rows = ARMS.flatMap(({ name, question, against = 'method' }) => {
    const own = records.filter(({ arm }) => arm === name);
    if (own.length === 0) return [];
    const pairs = own.flatMap((record) => {
      const other = all.find((one) => one.arm === against && one.equal === 'updates' && one.seed === record.seed);
      return other ? [[other, record] as const] : [];
    });
    const [others, paired] = [pairs.map(([other]) => other), pairs.map(([, record]) => record)];
    const difference = pairedDifference(valuesOf(others, 'pass@1'), valuesOf(paired, 'pass@1'));
    return [
      [
        name === 'method' ? `**${name}**` : name,
        `${own.length}`,
        withInterval(meanOf(valuesOf(own, 'pass@1'))),
        ...(name === 'method' ? ['', '', ''] : [against, points(difference), pValue(difference.p)]),
        withInterval(meanOf(valuesOf(own, 'test validity'))),
        withInterval(meanOf(valuesOf(own, 'mutation score'))),
        thousands(meanOf(own.map(({ tokens }) => tokens)).value),
        question,
      ],
    ];
  });
  const head = [
    'arm',
    'seeds',
    'pass@1',
    'against',
    'difference',
    'p',
    'test validity',
    'mutation score',
    'tokens',
    'question',
  ];
  return table(head, rows);
}

/** Leaves out runs without the metric. */
const valuesOf = (records: readonly ExperimentRecord[], metric: MetricName): number[] =>
  records.flatMap(({ metrics }) => metrics[metric] ?? []);

const percent = (share: number): string => (Number.isNaN(share) ? '–' : `${(100 * share).toFixed(1)} %`);
const half = (mean: Mean): string => (Number.isNaN(mean.half) ? '' : ` ± ${(100 * mean.half).toFixed(1)}`);
const withInterval = (mean: Mean): string => (mean.count === 0 ? '–' : `${percent(mean.value)}${half(mean)}`);
const points = (mean: Mean): string =>
  mean.count === 0 ? '–' : `${mean.value < 0 ? '−' : '+'}${(100 * Math.abs(mean.value)).toFixed(1)}${half(mean)}`;
const pValue = (p: number): string => (Number.isNaN(p) ? '–' : p < 0.001 ? '< 0.001' : p.toFixed(3));
const thousands = (count: number): string => `${Math.round(count / 1000)} k`;

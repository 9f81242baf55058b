// Computes the table of programs after training in docs/adversary.md.

import { groupBy } from '../../../core/base/groups.js';
import { type Mean, meanOf, pairedDifference } from '../../../core/evaluation/seeds.js';
import { STRATA } from '../../families/keyhole/family.js';
import { between, table } from '../../table.js';
import { interval } from '../page.js';
import type { CatchRecord, ProgramsRecord } from '../records.js';
import { SUITE_ARMS } from './suites.js';

const RIVALS = ['mutation', 'dictionary', 'dictionary-10x', 'search', 'cases', 'expert-placebo'] as const;

const WRITERS = 8; // the number of trained blind writers
export const writerNumber = (seed: number): number => seed % WRITERS;

/** Fills the page with the present records. @throws Error if the page has no place for them */
export const withPrograms = (page: string, records: readonly CatchRecord[], split = 'test'): string =>
  between(
    page,
    'programs',
    tableOf(records.filter((one): one is ProgramsRecord => one.kind === 'programs' && one.split === split)),
  );

function tableOf(records: readonly ProgramsRecord[]): string {
  if (records.length === 0) return 'No record yet.';
  const byArm = groupBy(records, ({ arm }) => arm);
  const arms = SUITE_ARMS.filter((arm) => byArm.has(arm));
  const mean = (own: readonly ProgramsRecord[], of: (one: ProgramsRecord) => number): string =>
    interval(own.map((one) => 100 * of(one)));
  const bases = [...new Map(records.map((one) => [one.seed, one])).values()];
  const row = (name: string, own: readonly ProgramsRecord[], of: 'before' | 'after'): string[] => [
    ...[name, `${own.length}`, mean(own, (one) => one[of].right)],
    ...STRATA.map((stratum) => mean(own, (one) => one[of][stratum])),
  ];
  return table(
    ['tests of', 'seeds', 'right programs', ...STRATA, 'answers trained', ...RIVALS.map((rival) => `minus ${rival}`)],
    [
      [...row('(before training)', bases, 'before'), '0', ...RIVALS.map(() => '–')],
      ...arms.map((arm) => {
        const own = byArm.get(arm)!;
        return [
          ...row(arm, own, 'after'),
          meanOf(own.map(({ trained }) => trained)).value.toFixed(0),
          ...RIVALS.map((rival) => (rival === arm ? '–' : points(difference(byArm.get(rival) ?? [], own)))),
        ];
      }),
    ],
  );
}

/**
 * `b` minus `a` in percentage points, with the wider of two intervals: one over seeds, and one over the mean of each writer's
 * seeds. Seeds with the same writer are not independent, so the second interval may only widen the first.
 */
export function difference(a: readonly ProgramsRecord[], b: readonly ProgramsRecord[]): Mean {
  const pairs = b.flatMap((one) => a.filter(({ seed }) => seed === one.seed).map((other) => [other, one] as const));
  const over = (groups: readonly (typeof pairs)[]): Mean => {
    const means = (side: 0 | 1): number[] =>
      groups.map((own) => 100 * meanOf(own.map((pair) => pair[side].after.right)).value);
    return pairedDifference(means(0), means(1));
  };
  const seeds = over(pairs.map((pair) => [pair]));
  const writers = over([...groupBy(pairs, ([{ seed }]) => writerNumber(seed)).values()]);
  return writers.half > seeds.half ? { ...seeds, half: writers.half } : seeds;
}

/** Formats a number with its sign. */
export const points = ({ value, half, count }: Mean): string =>
  count === 0 ? '–' : `${value > 0 ? '+' : ''}${value.toFixed(1)}${Number.isNaN(half) ? '' : ` ± ${half.toFixed(1)}`}`;

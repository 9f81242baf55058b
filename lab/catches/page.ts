// The tables of docs/adversary.md, computed from the records.

import { type Mean, meanOf } from '../../core/evaluation/seeds.js';
import type { Split } from '../../core/schema/problem.js';
import { between, table } from '../table.js';
import { inputsIn, secondsOf, shareAt, tokensOf } from './costs.js';
import { FLAWS_OF, FROZEN, type FrozenFamily, STRATA_OF } from './frozen.js';
import { GRID } from './measure.js';
import { type CatchesRecord, type CatchRecord, type Prices, type Row, rowsOf } from './records.js';

const TURN = 8; // the inputs of the trained writer in one turn; all arms get as many seconds as it needs for them
const COUNTS = [8, 80, 800] as const; // numbers of inputs for which mutation is shown at 1×, 10× and 100×
const TIMES = [0.003, 0.01, 0.03, 0.1] as const; // CPU seconds of a program, calls in the sandbox
export const WITHOUT_WRITER = 0.02; // the CPU seconds that are compared until a writer has been measured

/** Fills the page with the present records. @throws Error if the page has no place for them */
export function withCatches(page: string, records: readonly CatchRecord[], split: Split = 'test'): string {
  return between(page, 'catches', tables(records, split));
}

function tables(records: readonly CatchRecord[], split: Split): string {
  const prices = records.find((one) => one.kind === 'prices');
  const test = records.filter((one): one is CatchesRecord => one.kind === 'catches' && one.split === split);
  if (prices === undefined || test.length === 0) return 'No record yet.';
  return (Object.keys(FROZEN) as FrozenFamily[])
    .flatMap((family) => {
      const own = test.filter((record) => record.family === family);
      return own.length === 0 ? [] : familyTables(family, own, prices);
    })
    .join('\n\n');
}

/** The seconds that all arms get: the trained writer's seconds for its inputs. */
export function turnSeconds(records: readonly CatchesRecord[], prices: Prices): number {
  const trained = records.filter(({ arm }) => arm === 'trained');
  return trained.length === 0 ? WITHOUT_WRITER : meanOf(trained.map((record) => secondsOf(record, TURN, prices))).value;
}

function familyTables(family: FrozenFamily, records: readonly CatchesRecord[], prices: Prices): string[] {
  const strata = STRATA_OF[family].filter((stratum) => records[0]!.cells[stratum]);
  const rows = rowsOf(records);
  const seconds = turnSeconds(records, prices);
  const inputs = (record: CatchesRecord): number => inputsIn(record, seconds, prices);
  const counts = strata.map((stratum) => `${records[0]!.cells[stratum]?.count ?? 0} ${stratum}`).join(', ');
  const byTime = (cell: string) => (record: CatchesRecord) => percentAt(record, cell, inputs(record));
  return [
    `## Family \`${family}\``,
    `Frozen programs of the ${records[0]!.split} split: ${counts}. Shares that are caught, with 95 % intervals over seeds.`,
    `### At equal seconds: ${(1000 * seconds).toFixed(1)} ms, calls in the sandbox`,
    table(
      ['arm', 'seeds', ...strata, 'inputs', 'executions', 'tokens'],
      rows.map(({ arm, records: own }) => {
        const mean = (of: (record: CatchesRecord) => number): string => short(meanOf(own.map(of)).value);
        return [
          ...[arm, `${own.length}`],
          ...strata.map((stratum) => interval(own.map((record) => percentAt(record, stratum, inputs(record))))),
          ...[mean(inputs), mean((record) => 2 * inputs(record)), mean((record) => tokensOf(record, inputs(record)))],
        ];
      }),
    ),
    '### Against time, calls in the sandbox',
    table(
      ['arm', ...TIMES.flatMap((seconds) => strata.map((stratum) => `${stratum}, ${1000 * seconds} ms`))],
      rows.map(({ arm, records: own }) => [
        arm,
        ...TIMES.flatMap((seconds) =>
          strata.map((stratum) =>
            meanOf(own.map((one) => percentAt(one, stratum, inputsIn(one, seconds, prices)))).value.toFixed(0),
          ),
        ),
      ]),
    ),
    '### At equal numbers of tests',
    table(
      ['arm', ...COUNTS.flatMap((count) => strata.map((stratum) => `${stratum}, ${count}`))],
      rows.map(({ arm, records: own }) => [
        arm,
        ...COUNTS.flatMap((count) =>
          strata.map((stratum) => interval(own.map((record) => percentAt(record, stratum, count)))),
        ),
      ]),
    ),
    '### By kind of mistake, at equal seconds in the sandbox',
    cellTable(rows, strata, FLAWS_OF[family], byTime),
  ];
}

function cellTable(
  rows: readonly Row[],
  strata: readonly string[],
  parts: readonly string[],
  shareOf: (cell: string) => (record: CatchesRecord) => number,
): string {
  const cells = strata.flatMap((stratum) => parts.map((part) => ({ stratum, part, cell: `${stratum} ${part}` })));
  const present = cells.filter(({ cell }) => rows.some(({ records }) => records[0]!.cells[cell]));
  return table(
    ['stratum', 'part', 'programs', ...rows.map(({ arm }) => arm)],
    present.map(({ stratum, part, cell }) => [
      ...[stratum, part, `${rows[0]!.records[0]!.cells[cell]?.count ?? 0}`],
      ...rows.map(({ records }) => {
        const mean = meanOf(records.map(shareOf(cell))).value;
        return Number.isNaN(mean) ? '–' : mean.toFixed(0);
      }),
    ]),
  );
}

/** NaN if the cell has no program. */
export function percentAt(record: CatchesRecord, cell: string, inputs: number): number {
  const found = record.cells[cell];
  return found ? 100 * shareAt(found, Math.min(inputs, GRID.at(-1)!)) : Number.NaN;
}

export function interval(values: readonly number[]): string {
  const mean: Mean = meanOf(values);
  return `${mean.value.toFixed(1)}${Number.isNaN(mean.half) ? '' : ` ± ${mean.half.toFixed(1)}`}`;
}

const short = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(1));

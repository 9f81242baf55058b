// The first tables of docs/evidence.md, from the records: a taught writer beside each control without a model.
import { table } from '../bench/results.js';
import { meanOf } from '../experiments/statistics.js';
import { STRATA } from '../families/keyhole/family.js';
import { inputsIn, type Market } from './costs.js';
import type { SuiteArm } from './generator/suites.js';
import { difference, points } from './generator/table.js';
import { between, interval, percentAt, turnSeconds } from './page.js';
import type { CatchesRecord, CatchRecord, Prices, ProgramsRecord } from './records.js';

const FEW = 8; // tests
const BY_HAND = 'by-hand';
const CONTROLS = ['mutation', 'dictionary', 'distance', BY_HAND];
const TAUGHT = { title: 'taught writer', few: 'blind', timed: 'blind-hybrid' };
const PUBLIC = { title: 'SmolLM2', few: 'public', timed: 'public-hybrid' };
const COLUMNS = [TAUGHT, PUBLIC, ...CONTROLS.map((arm) => ({ title: arm, few: arm, timed: arm }))];
const SUITES: [title: string, learned: SuiteArm, control: SuiteArm][] = [
  ['32 tests a problem, each', 'blind-hybrid', 'dictionary'],
  ['32 tests a problem, against 320', 'blind-hybrid', 'dictionary-10x'],
  ['320 tests a problem, each', 'blind-hybrid-10x', 'dictionary-10x'],
];

/** The page with the present records. @throws Error if the page has no place for them */
export const withSummary = (page: string, records: readonly CatchRecord[]): string =>
  between(page, 'adversary', summaryOf(records));

export function summaryOf(records: readonly CatchRecord[]): string {
  const prices = records.find((one) => one.kind === 'prices');
  const fresh = records.filter(
    (one): one is CatchesRecord => one.kind === 'catches' && one.split === 'test' && one.family === 'keyhole-fresh',
  );
  if (prices === undefined || fresh.length === 0) return 'No record yet.';
  const programs = records.filter((one): one is ProgramsRecord => one.kind === 'programs' && one.split === 'test');
  return [catchesTable(fresh, prices), programsTable(programs)].join('\n\n');
}

function catchesTable(records: readonly CatchesRecord[], prices: Prices): string {
  const row = (title: string, as: 'few' | 'timed', share: (record: CatchesRecord) => number): string[] => {
    const cells = COLUMNS.map((column) => records.filter(({ arm }) => arm === column[as]).map(share));
    const ranked = cells.map((values, c) =>
      values.length === 0 || COLUMNS[c]!.title === BY_HAND ? -1 : Number(meanOf(values).value.toFixed(1)),
    );
    const most = Math.max(...ranked);
    const shown = cells.map((values) => (values.length === 0 ? '–' : interval(values)));
    return [title, ...shown.map((cell, c) => (ranked[c] === most ? `**${cell}**` : cell))];
  };
  const timed = (stratum: string, market: Market): string[] => {
    const seconds = turnSeconds(records, prices, market);
    const place = market === 'sandbox' ? 'in the sandbox' : 'calls nearly free';
    return row(`${stratum}, equal seconds, ${place}`, 'timed', (record) =>
      percentAt(record, stratum, inputsIn(record, seconds, prices, market)),
    );
  };
  return table(
    ['mistakes caught, %', ...COLUMNS.map(({ title }) => title)],
    STRATA.flatMap((stratum) => [
      row(`${stratum}, ${FEW} tests`, 'few', (record) => percentAt(record, stratum, FEW)),
      timed(stratum, 'sandbox'),
      timed(stratum, 'inProcess'),
    ]),
  );
}

function programsTable(records: readonly ProgramsRecord[]): string {
  return table(
    ['programs right after training with its tests, %', 'taught writer', 'dictionary', 'difference'],
    SUITES.map(([title, learned, control]) => {
      const of = (arm: SuiteArm): ProgramsRecord[] => records.filter((one) => one.arm === arm);
      const right = (arm: SuiteArm): string => interval(of(arm).map(({ after }) => 100 * after.right));
      return [title, right(learned), right(control), points(difference(of(control), of(learned)))];
    }),
  );
}

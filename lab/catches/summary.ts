// The table of docs/evidence.md that says where a learned writer pays: it and the best control without a model, from the records.
import { table } from '../bench/results.js';
import { meanOf } from '../experiments/statistics.js';
import { CONTROLS } from './controls.js';
import { inputsIn } from './costs.js';
import type { SuiteArm } from './generator/suites.js';
import { between, interval, percentAt, turnSeconds } from './page.js';
import type { CatchesRecord, CatchRecord } from './records.js';

const FEW = 8; // tests
const RIVALS = CONTROLS.map(({ name }) => name).filter((name) => name !== 'by-hand');

/** The page with the present records. @throws Error if the page has no place for them */
export const withSummary = (page: string, records: readonly CatchRecord[]): string =>
  between(page, 'adversary', summaryOf(records));

export function summaryOf(records: readonly CatchRecord[]): string {
  const prices = records.find((one) => one.kind === 'prices');
  const fresh = records.filter(
    (one): one is CatchesRecord => one.kind === 'catches' && one.split === 'test' && one.family === 'keyhole-fresh',
  );
  if (prices === undefined || fresh.length === 0) return 'No record yet.';
  const seconds = turnSeconds(fresh, prices, 'sandbox');
  const row = (title: string, learned: string, share: (record: CatchesRecord) => number): string[] => {
    const of = (arm: string): number[] => fresh.filter((record) => record.arm === arm).map(share);
    const mean = (arm: string): number => meanOf(of(arm)).value;
    const rivals = RIVALS.filter((arm) => of(arm).length > 0);
    const best = rivals.reduce((a, b) => (mean(b) > mean(a) ? b : a));
    return [title, `${learned} ${interval(of(learned))}`, `${best} ${interval(of(best))}`];
  };
  const atTests = (stratum: string) => (record: CatchesRecord) => percentAt(record, stratum, FEW);
  const atSeconds = (stratum: string) => (record: CatchesRecord) =>
    percentAt(record, stratum, inputsIn(record, seconds, prices, 'sandbox'));
  const programs = (arm: SuiteArm): string => {
    const own = records.filter((one) => one.kind === 'programs' && one.split === 'test' && one.arm === arm);
    return `${arm} ${interval(own.flatMap((one) => (one.kind === 'programs' ? [100 * one.after.right] : [])))}`;
  };
  return table(
    ['new programs of `keyhole`, %', 'learned', 'best control without a model'],
    [
      ...['direct', 'computed', 'conjunctive'].flatMap((stratum) => [
        row(`${stratum} mistakes caught, ${FEW} tests`, 'blind', atTests(stratum)),
        row(`the same, at equal seconds in the sandbox`, 'blind-hybrid', atSeconds(stratum)),
      ]),
      row(`computed mistakes caught by SmolLM2, ${FEW} tests`, 'public', atTests('computed')),
      row('the same, at equal seconds in the sandbox', 'public-hybrid', atSeconds('computed')),
      ['programs right after training, 32 tests a problem', programs('blind-hybrid'), programs('dictionary')],
      ['the same, 320 tests a problem', programs('blind-hybrid-10x'), programs('dictionary-10x')],
    ],
  );
}

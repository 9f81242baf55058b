// Computes the tables of docs/evidence.md about the adversary: a taught writer beside each control without a model.

import { pairedDifference } from '../../core/evaluation/seeds.js';
import { STRATA } from '../families/keyhole/family.js';
import { between, table } from '../table.js';
import { inputsIn } from './costs.js';
import type { SuiteArm } from './generator/suites.js';
import { difference, points } from './generator/table.js';
import { interval, percentAt, turnSeconds } from './page.js';
import type { CatchesRecord, CatchRecord, Prices, ProgramsRecord, ReinforcedRecord } from './records.js';
import { REWARDS, reinforcedIn } from './reinforced.js';

const FEW = 8; // a small number of tests
const LONGER = 0.04; // CPU seconds per program, at the price of the sandbox
const CONTROLS = ['mutation', 'dictionary', 'search', 'by-hand'];
const COLUMNS = [
  { title: 'writer alone', arm: 'blind' },
  { title: 'writer + changes', arm: 'blind-hybrid' },
  { title: 'SmolLM2 alone', arm: 'public' },
  ...CONTROLS.map((arm) => ({ title: arm, arm })),
];
const SUITES: [title: string, learned: SuiteArm, control: SuiteArm][] = [
  ['32 tests a problem, each', 'blind-hybrid', 'dictionary'],
  ['32 tests a problem, against 320', 'blind-hybrid', 'dictionary-10x'],
  ['320 tests a problem, each', 'blind-hybrid-10x', 'dictionary-10x'],
];

/** Fills the page with the present records. @throws Error if the page has no place for them */
export const withSummary = (page: string, records: readonly CatchRecord[]): string =>
  between(between(page, 'adversary', summaryOf(records)), 'reinforced', reinforcedTable(reinforcedIn(records, 'test')));

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
  const row = (title: string, share: (record: CatchesRecord) => number): string[] => [
    title,
    ...COLUMNS.map(({ arm }) => {
      const values = records.filter((record) => record.arm === arm).map(share);
      return values.length === 0 ? '–' : interval(values);
    }),
  ];
  const times = [turnSeconds(records, prices, 'sandbox'), LONGER];
  return table(
    ['mistakes caught, %', ...COLUMNS.map(({ title }) => title)],
    STRATA.flatMap((stratum) => [
      row(`${stratum}, ${FEW} tests`, (record) => percentAt(record, stratum, FEW)),
      row(`${stratum}, \`missing\` only, ${FEW} tests`, (record) => percentAt(record, `${stratum} missing`, FEW)),
      ...times.map((seconds) =>
        row(`${stratum}, ${(1000 * seconds).toFixed(1)} ms a program`, (record) =>
          percentAt(record, stratum, inputsIn(record, seconds, prices, 'sandbox')),
        ),
      ),
    ]),
  );
}

function reinforcedTable(records: readonly ReinforcedRecord[]): string {
  if (records.length === 0) return 'No record yet.';
  const placebo = records.filter(({ arm }) => arm === 'placebo');
  const bases = [...new Map(records.map((one) => [one.seed, one])).values()];
  const row = (title: string, own: readonly ReinforcedRecord[], side: 'before' | 'after'): string[] => {
    const pairs = own.flatMap((one) => placebo.filter(({ seed }) => seed === one.seed).map((other) => [other, one]));
    const minusPlacebo = (name: 'hard' | 'aim'): string => {
      if (side === 'before' || own[0]!.arm === 'placebo') return '–';
      const [theirs, ours] = [0, 1].map((i) => pairs.map((pair) => 100 * pair[i]![side][name]));
      return points(pairedDifference(theirs!, ours!));
    };
    return [
      ...[title, `${own.length}`],
      ...(['hard', 'all', 'valid', 'aim'] as const).map((name) => interval(own.map((one) => 100 * one[side][name]))),
      ...[minusPlacebo('hard'), minusPlacebo('aim')],
    ];
  };
  return table(
    [
      'reward',
      'seeds',
      'hard programs caught, %',
      'all, %',
      'valid tests, %',
      'aim, %',
      'hard, minus placebo',
      'aim, minus placebo',
    ],
    [
      row('(before training)', bases, 'before'),
      ...REWARDS.flatMap((arm) => {
        const own = records.filter((one) => one.arm === arm);
        return own.length === 0 ? [] : [row(`\`${arm}\``, own, 'after')];
      }),
    ],
  );
}

function programsTable(records: readonly ProgramsRecord[]): string {
  return table(
    ['programs right after training with its tests, %', 'writer + changes', 'dictionary', 'difference'],
    SUITES.map(([title, learned, control]) => {
      const of = (arm: SuiteArm): ProgramsRecord[] => records.filter((one) => one.arm === arm);
      const right = (arm: SuiteArm): string => interval(of(arm).map(({ after }) => 100 * after.right));
      return [title, right(learned), right(control), points(difference(of(control), of(learned)))];
    }),
  );
}

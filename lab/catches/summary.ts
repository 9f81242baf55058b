// Computes the tables of docs/evidence.md about reinforcement of the discriminator.

import { pairedDifference } from '../../core/evaluation/seeds.js';
import { STRATA } from '../families/keyhole/family.js';
import { between, table } from '../table.js';
import { points } from './generator/table.js';
import { interval, percentAt } from './page.js';
import type { CatchesRecord, CatchRecord, ReinforcedRecord } from './records.js';
import { REWARDS, reinforcedIn } from './reinforced.js';

const FEW = 8; // tests of a writer of `keyhole`
const RIVALS = ['cases', 'expert-placebo'];

/** Fills the page with the present records. @throws Error if the page has no place for them */
export const withReinforced = (page: string, records: readonly CatchRecord[]): string =>
  between(between(page, 'expert', expertTable(records)), 'reinforced', reinforcedTable(reinforcedIn(records, 'test')));

export function expertTable(records: readonly CatchRecord[]): string {
  const fresh = records.filter(
    (one): one is CatchesRecord => one.kind === 'catches' && one.split === 'test' && one.family === 'keyhole-fresh',
  );
  const of = (arm: string) => fresh.filter((one) => one.arm === arm).toSorted((a, b) => a.seed - b.seed);
  const arms = [...RIVALS, 'expert'].filter((arm) => of(arm).length > 0);
  if (arms.length === 0) return 'No record yet.';
  const computed = (own: readonly CatchesRecord[]) => own.map((one) => percentAt(one, 'computed', FEW));
  const minus = (other: string, arm: string): string => {
    const pairs = of(arm).flatMap((one) =>
      of(other)
        .filter(({ seed }) => seed === one.seed)
        .map((two) => [two, one]),
    );
    const [theirs, ours] = [0, 1].map((i) => computed(pairs.map((pair) => pair[i]!)));
    return other === arm ? '–' : points(pairedDifference(theirs!, ours!));
  };
  return table(
    ['writer', 'seeds', ...STRATA, ...RIVALS.map((arm) => `computed, minus \`${arm}\``)],
    arms.map((arm) => [
      ...[`\`${arm}\``, `${of(arm).length}`],
      ...STRATA.map((stratum) => interval(of(arm).map((one) => percentAt(one, stratum, FEW)))),
      ...RIVALS.map((other) => minus(other, arm)),
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

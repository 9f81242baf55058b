// The tables of docs/adversary.md about the wrong programs of real models.
import { meanOf } from '../../core/evaluation/seeds.js';
import { between, table } from '../table.js';
import { interval } from './page.js';
import { REAL_WRITERS, type RealTarget, realTargets } from './real.js';
import type { CatchRecord, RealRecord } from './records.js';

const COUNTS = [1, 5, 10, 100, 500] as const;
const FEW = 5;
const WITHOUT_MODEL = ['mutation', 'dictionary', 'search'];
const MODEL = 'codegen-16b';

/** Fills the page with the present records. @throws Error if the page has no place for them */
export function withReal(page: string, all: readonly CatchRecord[]): string {
  const records = all.filter((one) => one.kind === 'real');
  const targets = realTargets().slice(0, records[0]?.ranks.length); // a quick run has fewer
  return between(page, 'real', records.length === 0 ? 'No record yet.' : tables(records, targets));
}

function tables(records: readonly RealRecord[], targets: readonly RealTarget[]): string {
  const known = new Set(targets.filter(({ group }) => group === 'codegen-known').map(({ problem }) => problem.id));
  const all: [title: string, isIn: (target: RealTarget) => boolean][] = [
    ['all', () => true],
    ['CodeGen, known', ({ group }) => group === 'codegen-known'],
    ['CodeGen, new', ({ group, problem }) => group === 'codegen-new' && known.has(problem.id)],
    ['CodeGen, new problems', ({ group, problem }) => group === 'codegen-new' && !known.has(problem.id)],
    ['Qwen', ({ group }) => group === 'qwen'],
  ];
  const parts = all.filter(([, isIn]) => targets.some(isIn));
  const arms = Object.keys(REAL_WRITERS).flatMap((arm) => {
    const own = records.filter((record) => record.arm === arm);
    return own.length === 0 ? [] : [{ arm, own }];
  });
  /** The mean over problems of the share of its programs that are caught, in percent, as a mean over seeds. */
  const share = (own: readonly RealRecord[], count: number, isIn: (target: RealTarget) => boolean): string => {
    const ofProblem = new Map<string, number[]>();
    for (const [t, target] of targets.entries()) {
      if (!isIn(target) || own[0]!.ranks[t]! < 0) continue;
      const caught = own.map(({ ranks }) => (ranks[t]! > 0 && ranks[t]! <= count ? 100 : 0));
      ofProblem.set(target.problem.id, [...(ofProblem.get(target.problem.id) ?? []), ...caught]);
    }
    return ofProblem.size === 0 ? '–' : interval([...ofProblem.values()].map((values) => meanOf(values).value));
  };
  const size = (isIn: (target: RealTarget) => boolean): string => {
    const own = targets.filter(isIn);
    return `${own.length} programs of ${new Set(own.map(({ problem }) => problem.id)).size} problems`;
  };
  return [
    table(
      ['tests of', 'seeds', ...COUNTS.map((count) => `${count}`)],
      arms.map(({ arm, own }) => [
        `\`${arm}\``,
        `${own.length}`,
        ...COUNTS.map((count) => share(own, count, () => true)),
      ]),
    ),
    `With ${FEW} tests:`,
    table(
      ['tests of', ...parts.map(([title, isIn]) => `${title}: ${size(isIn)}`)],
      arms.map(({ arm, own }) => [`\`${arm}\``, ...parts.map(([, isIn]) => share(own, FEW, isIn))]),
    ),
    beyond(records, targets),
  ].join('\n\n');
}

/** What the tests of a model catch that no writer without a model catches with a hundred times as many. */
function beyond(records: readonly RealRecord[], targets: readonly RealTarget[]): string {
  const within = (arms: readonly string[], count: number) =>
    targets.map((_, t) =>
      records.some(({ arm, seed, ranks }) => seed === 0 && arms.includes(arm) && ranks[t]! > 0 && ranks[t]! <= count),
    );
  const rows = [1, FEW, 10].map((count) => {
    const [model, others] = [within([MODEL], count), within(WITHOUT_MODEL, 100 * count)];
    const extra = targets.filter((_, t) => model[t] && !others[t]);
    return [
      `${count}`,
      `${model.filter(Boolean).length}`,
      `${others.filter(Boolean).length}`,
      `${extra.length} of ${new Set(extra.map(({ problem }) => problem.id)).size} problems`,
    ];
  });
  return table(
    [
      'tests',
      `caught by \`${MODEL}\``,
      'by the others together, 100 times the tests, at most 500',
      `only by \`${MODEL}\``,
    ],
    rows,
  );
}

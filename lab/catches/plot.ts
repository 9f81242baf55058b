// Draws the picture of docs/adversary.md: the catches of every arm at each cost, with one panel for each stratum.
import { meanOf } from '../../core/evaluation/seeds.js';
import { colourStyle, FONT, fill, stroke } from '../svg.js';
import { type Market, secondsOf, shareAt, tokensOf } from './costs.js';
import { type FrozenFamily, STRATA_OF } from './frozen.js';
import { GRID } from './measure.js';
import { type CatchesRecord, type CatchRecord, type Prices, rowsOf } from './records.js';

export const plotFile = (family: FrozenFamily): string => `catches-${family}.svg`;

const [PANEL, HEIGHT, GAP, LEFT, TOP] = [250, 150, 46, 56, 92];

/** Colours and dashes distinguish the arms, which are controls and writers with a model. */
const HUES = [
  '#8a94a6',
  '#b4530a',
  '#7a5195',
  '#1f8a4c',
  '#c2185b',
  '#00838f',
  '#5b6472',
  '#9e9d24',
  '#e08e00',
  '#1d63d8',
  '#d32f2f',
  '#6d4c41',
  '#43a047',
  '#ad1457',
];

interface Axis {
  title: string;
  from: number; // the exponents of powers of ten
  to: number;
  cost(record: CatchesRecord, inputs: number): number;
}

/** Undefined if there is nothing to draw. */
export function catchPlot(family: FrozenFamily, all: readonly CatchRecord[]): string | undefined {
  const prices = all.find((one): one is Prices => one.kind === 'prices');
  const records = all.filter(
    (one): one is CatchesRecord => one.kind === 'catches' && one.split === 'test' && one.family === family,
  );
  if (prices === undefined || records.length === 0) return undefined;
  const rows = rowsOf(records);
  const seconds = (market: Market) => (record: CatchesRecord, inputs: number) =>
    secondsOf(record, inputs, prices, market);
  const axes: Axis[] = [
    { title: 'tests', from: 0, to: 3.5, cost: (_record, inputs) => inputs },
    { title: 'seconds, sandbox', from: -4, to: 0, cost: seconds('sandbox') },
    { title: 'seconds, in process', from: -5, to: -1, cost: seconds('inProcess') },
    ...(records.some(({ model }) => model) ? [{ title: 'sampled tokens', from: 0.5, to: 3, cost: tokensOf }] : []),
  ];
  const strata = STRATA_OF[family];
  const [width, height] = [LEFT + strata.length * (PANEL + GAP), TOP + axes.length * (HEIGHT + GAP + 12)];
  const title = `Frozen wrong programs that are caught, family ${family}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${width} ${height}" ${FONT}>`,
    `<title>${title}</title>${colourStyle()}`,
    `<text x="8" y="22" font-size="17" font-weight="600" ${fill('ink')}>${title}</text>`,
    ...rows.map(({ arm }, i) => {
      const [x, y] = [12 + 140 * (i % 6), 44 + 18 * Math.floor(i / 6)];
      return `<path d="M${x} ${y - 4}h22" stroke="${HUES[i]}" stroke-width="2"/><text x="${x + 28}" y="${y}" ${fill('ink')}>${arm}</text>`;
    }),
    ...axes.flatMap((axis, a) =>
      strata.flatMap((stratum, s) => {
        const [x0, y0] = [LEFT + s * (PANEL + GAP), TOP + a * (HEIGHT + GAP + 12)];
        const x = (cost: number): number => {
          const at = (Math.log10(Math.max(cost, 1e-9)) - axis.from) / (axis.to - axis.from);
          return x0 + PANEL * Math.min(1, Math.max(0, at));
        };
        const y = (share: number): number => y0 + HEIGHT * (1 - share);
        return [
          ...[0, 0.5, 1].flatMap((share) => [
            `<path d="M${x0} ${y(share)}h${PANEL}" ${stroke('grid', 1)}/>`,
            `<text x="${x0 - 6}" y="${y(share) + 4}" text-anchor="end" ${fill('muted')}>${100 * share}</text>`,
          ]),
          ...Array.from(
            { length: Math.floor(axis.to) - Math.ceil(axis.from) + 1 },
            (_, i) => Math.ceil(axis.from) + i,
          ).map(
            (power) =>
              `<text x="${x(10 ** power).toFixed(0)}" y="${y0 + HEIGHT + 14}" text-anchor="middle" font-size="10" ${fill('muted')}>10${superscript(power)}</text>`,
          ),
          `<text x="${x0}" y="${y0 - 6}" ${fill('ink')}>${stratum} · ${axis.title}</text>`,
          ...rows.flatMap(({ records: own }, i) => {
            if (!own[0]!.cells[stratum]) return [];
            const points = GRID.flatMap((inputs) => {
              const cost = meanOf(own.map((record) => axis.cost(record, inputs))).value;
              const share = meanOf(own.map((record) => shareAt(record.cells[stratum]!, inputs))).value;
              return cost <= 0 || cost > 10 ** axis.to ? [] : [`${x(cost).toFixed(1)},${y(share).toFixed(1)}`];
            });
            return points.length < 2
              ? []
              : [`<polyline points="${points.join(' ')}" fill="none" stroke="${HUES[i]}" stroke-width="2"/>`];
          }),
        ];
      }),
    ),
    '</svg>\n',
  ].join('\n');
}

const superscript = (power: number): string =>
  [...`${power}`].map((c) => (c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(c)])).join('');

// Draws the plot of docs/evidence.md: the pass@1 of every arm with its 95 % interval, next to the method.

import { type Mean, meanOf } from '../../core/evaluation/seeds.js';
import { type Colour, colourStyle, FONT, fill, stroke } from '../svg.js';
import { ARMS, type Family } from './arms.js';
import type { ExperimentRecord } from './records.js';

const ROW = 24; // in pixels
const TOP = 64;
const [LEFT, WIDTH, RIGHT] = [190, 620, 24]; // the margins and the width of the axis

const KINDS = { updates: 'sampled', tokens: 'control' } as const satisfies Record<string, Colour>;

interface Interval extends Mean {
  arm: string;
  equal: keyof typeof KINDS;
}

/** Undefined if no arm can be compared with the method. */
export function plotOf(family: Family, records: readonly ExperimentRecord[]): string | undefined {
  const intervals = intervalsOf(records.filter((record) => record.family === family));
  const arms = [...new Set(intervals.map(({ arm }) => arm))];
  const method = intervals.find(({ arm }) => arm === 'method');
  if (method === undefined || arms.length < 2) return undefined;
  const bounds = intervals.flatMap(({ value, half }) => [value - (half || 0), value + (half || 0)]);
  const low = Math.min(0.9, Math.floor(10 * Math.min(...bounds)) / 10);
  const high = Math.max(low + 0.1, Math.min(1, Math.ceil(10 * Math.max(...bounds)) / 10));
  const x = (value: number): string => (LEFT + (WIDTH * (value - low)) / (high - low)).toFixed(1);
  const bottom = TOP + ROW * arms.length;
  const ticks = Array.from({ length: Math.round(10 * (high - low)) + 1 }, (_, i) => low + i / 10);
  const height = bottom + 32;
  const title = `Problems solved by each arm, family ${family}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${LEFT + WIDTH + RIGHT} ${height}" ${FONT}>`,
    `<title>${title}</title>${colourStyle()}`,
    `<text x="8" y="22" font-size="17" font-weight="600" ${fill('ink')}>${title}</text>`,
    ...Object.entries(KINDS).flatMap(([equal, colour], i) => [
      `<circle cx="${LEFT + 160 * i}" cy="42" r="5" ${fill(colour)}/>`,
      `<text x="${LEFT + 12 + 160 * i}" y="46" ${fill('muted')}>at equal ${equal}</text>`,
    ]),
    ...ticks.flatMap((tick) => [
      line(x(tick), TOP - 8, x(tick), bottom, 'grid', 1),
      `<text x="${x(tick)}" y="${bottom + 18}" text-anchor="middle" ${fill('muted')}>${Math.round(100 * tick)} %</text>`,
    ]),
    line(x(method.value), TOP - 8, x(method.value), bottom, 'sampled', 1),
    ...arms.map((arm, row) => `<text x="8" y="${middle(row) + 4}" ${fill('ink')}>${arm}</text>`),
    ...intervals.flatMap(({ arm, equal, value, half }) => {
      const y = middle(arms.indexOf(arm)) + (equal === 'tokens' ? 5 : -1);
      return [
        ...(half > 0
          ? [line(x(Math.max(low, value - half)), y, x(Math.min(high, value + half)), y, KINDS[equal], 2)]
          : []),
        `<circle cx="${x(value)}" cy="${y}" r="4" ${fill(KINDS[equal])}/>`,
      ];
    }),
    '</svg>\n',
  ].join('\n');
}

function intervalsOf(records: readonly ExperimentRecord[]): Interval[] {
  return ARMS.flatMap(({ name: arm }) =>
    (['updates', 'tokens'] as const).flatMap((equal): Interval[] => {
      const own = records.filter((record) => record.arm === arm && record.equal === equal);
      return own.length === 0 ? [] : [{ arm, equal, ...meanOf(own.flatMap(({ metrics }) => metrics['pass@1'] ?? [])) }];
    }),
  );
}

const middle = (row: number): number => TOP + ROW * row + ROW / 2;

const line = (x1: string, y1: number, x2: string, y2: number, colour: Colour, width: number): string =>
  `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" ${stroke(colour, width)}/>`;

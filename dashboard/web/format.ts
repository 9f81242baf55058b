// Formats numbers and texts for readers.
import type { Point } from '../api.js';

export function decimal(value: number | undefined, digits = 3): string {
  if (value === undefined) return '–';
  const size = Math.abs(value);
  if (size < 1e-12) return '0'; // a sum that should be zero may have a rounding error
  const text = size < 1e-3 || size >= 1e6 ? value.toExponential(2) : trimmed(value.toFixed(digits));
  return text.replace('-', '−');
}

const trimmed = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

/** Formats a number with its sign: '+0.5' or '−0.5'. */
export const signed = (value: number): string => (value > 0 ? `+${decimal(value)}` : decimal(value));

export const percent = (rate: number | undefined): string =>
  rate === undefined ? '–' : `${trimmed((100 * rate).toFixed(1))} %`;

/** Shows where a 95 % interval lies, or nothing if it is unknown. */
export const intervalText = ({ low, high }: Pick<Point, 'low' | 'high'>): string =>
  low === undefined ? '' : `${percent(low).replace(' %', '')} to ${percent(high)}`;

/** Whether the difference of two rates is larger than their 95 % intervals explain (Newcombe 1998, method 10). */
export function isBeyondNoise(one: Omit<Point, 'step'>, two: Omit<Point, 'step'>): boolean {
  const [less, more] = one.value < two.value ? [one, two] : [two, one];
  const upper = (less.high ?? less.value) - less.value;
  const lower = more.value - (more.low ?? more.value);
  return more.value - less.value > Math.hypot(upper, lower);
}

/** Shows a difference of two rates: '+12.5 points'. */
export const points = (difference: number): string => `${signed(Math.round(1000 * difference) / 10)} points`;

export const grouped = (count: number): string => Math.round(count).toLocaleString('en');

export function duration(seconds: number | undefined): string {
  if (seconds === undefined || !Number.isFinite(seconds)) return '–';
  const minutes = Math.round(seconds / 60);
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (minutes < 100) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const time = (ms: number): string => new Date(ms).toLocaleString('sv-SE');

export const stageName = (stage: number | undefined): string =>
  stage === undefined ? '–' : stage === 0 ? 'warm start' : `stage ${stage}`;

/** Says where a run is in its schedule. */
export const phaseName = (stage: number | undefined, phase: string): string =>
  stage === 0 ? stageName(stage) : `${stageName(stage)}, ${phase}`;

/** Shortens the path of a model folder to the name of the folder. */
export const modelName = (model: string): string =>
  /^[/~.]/.test(model) ? (model.match(/[^/]+/g)?.at(-1) ?? model) : model;

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/**
 * Escapes characters that a page would not show or that would reorder the text around them. A model may write such
 * characters. Markup needs no escapes, because the framework inserts strings as text.
 */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (char) => {
    if (char === '\n' || char === '\t') return char;
    return `\\u{${char.codePointAt(0)!.toString(16)}}`;
  });

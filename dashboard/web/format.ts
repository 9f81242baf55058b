// Numbers and texts as people read them.

export function decimal(value: number | undefined, digits = 3): string {
  if (value === undefined) return '–';
  const size = Math.abs(value) < 1e-12 ? 0 : Math.abs(value); // what sums leave of zero
  if (size === 0) return '0';
  const text = size < 1e-3 || size >= 1e6 ? value.toExponential(2) : trimmed(value.toFixed(digits));
  return text.replace('-', '−');
}

const trimmed = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

/** '+0.5' or '−0.5' */
export const signed = (value: number): string => (value > 0 ? `+${decimal(value)}` : decimal(value));

export const percent = (rate: number | undefined): string =>
  rate === undefined ? '–' : `${trimmed((100 * rate).toFixed(1))} %`;

/** A difference of rates: '+12.5 points'. */
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

/** The place of a run in its schedule. */
export const phaseName = (stage: number | undefined, phase: string): string =>
  stage === 0 ? stageName(stage) : `${stageName(stage)}, ${phase}`;

/** Of a model in a folder, the folder's name. */
export const modelName = (model: string): string =>
  /^[/~.]/.test(model) ? (model.match(/[^/]+/g)?.at(-1) ?? model) : model;

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/**
 * Text from a model: characters that a page would not show, or that would reorder the text around them, as escapes.
 * Markup needs nothing, because the framework writes text as text.
 */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (char) => {
    if (char === '\n' || char === '\t') return char;
    return `\\u{${char.codePointAt(0)!.toString(16)}}`;
  });

// A run as three lines of a terminal: its stages, its curves, its figures.
import type { RunProgress } from '../../core/schema/run.js';
import type { Band } from '../../dashboard/api.js';
import { duration, paint, percent } from './output.js';

const COLOURS = { 'warm-start': 'yellow', discriminator: 'magenta', generator: 'blue', alternating: 'cyan' } as const;
const LEVELS = '▁▂▃▄▅▆▇█';
const CURVE = 16; // columns
export const LEAST_COLUMNS = 64;

export interface LiveFigures {
  progress: RunProgress;
  left: number | undefined; // seconds
  bands: readonly Band[];
  passRates: readonly number[];
  validities: readonly number[];
}

/** Draws the latest rates as a curve from 0 to 1. */
export const sparkText = (rates: readonly number[]): string =>
  rates
    .slice(-CURVE)
    .map((rate) => LEVELS[Math.round(rate * (LEVELS.length - 1))])
    .join('');

/** Draws the stages. The width of a phase is its share of all updates, and it fills as the run goes on. */
export function bandText(bands: readonly Band[], step: number, width: number, stream: NodeJS.WriteStream): string {
  const stages = [...new Set(bands.map(({ stage }) => stage))];
  const [first, last] = [bands[0]?.start ?? 0, bands.at(-1)?.end ?? 0];
  const columns = width + 1 - 3 * stages.length;
  const column = (at: number): number => Math.round((columns * (at - first)) / (last - first));
  const cells = ({ phase, start, end }: Band): string => {
    const done = column(Math.min(Math.max(step, start), end)) - column(start);
    const drawn = `${'█'.repeat(done)}${'░'.repeat(column(end) - column(start) - done)}`;
    return paint(COLOURS[phase as keyof typeof COLOURS], drawn, stream);
  };
  return stages
    .map(
      (stage) =>
        `${stage} ${bands
          .filter((band) => band.stage === stage)
          .map(cells)
          .join('')}`,
    )
    .join(' ');
}

export function liveView(figures: LiveFigures, columns: number, stream: NodeJS.WriteStream): string {
  const { progress, left, bands, passRates, validities } = figures;
  const { step, totalSteps, stage, phase, state, reward, tokensPerSecond, validation } = progress;
  const count = ` ${step}/${totalSteps}`;
  const curve = (title: string, rates: readonly number[]): string[] =>
    rates.length === 0 ? [] : [`${title} ${sparkText(rates)} ${percent(rates.at(-1)!)}`];
  const where = state === 'training' && stage ? `stage ${stage} ${phase}` : state;
  const rates = [...curve('tests passed', passRates), ...curve('valid', validities)];
  const solved = validation?.passRate === undefined ? [] : [`solved ${percent(validation.passRate)}`];
  return [
    `${bandText(bands, step, columns - 1 - count.length, stream)}${count}`,
    (rates.length > 0 ? rates : ['the curves begin after the first step']).join('  ').slice(0, columns - 1),
    [
      where,
      ...(reward === undefined ? [] : [`reward ${reward.toFixed(2)}`]),
      ...solved,
      ...(tokensPerSecond === undefined ? [] : [`${Math.round(tokensPerSecond)} tokens/s`]),
      ...(left === undefined ? [] : [`${duration(left)} left`]),
    ]
      .join(' · ')
      .slice(0, columns - 1),
  ].join('\n');
}

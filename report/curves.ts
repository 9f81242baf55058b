// Which charts a report has: held-out curves, rewards, and the statistics of PPO.
import type { StepMetrics } from '../core/schema/metrics.js';
import { type Chart, chartSvg, colourCss, type Line } from './charts.js';
import type { ReportData } from './data.js';
import { controlCurve, type Point, stageBands, stepCurve, validationCurve } from './series.js';

export function solvedChart(data: ReportData): Chart {
  const lines: Line[] = [
    { name: 'sampled', colour: 'sampled', points: validationCurve(data, 'passRate') },
    { name: 'greedy', colour: 'greedy', points: validationCurve(data, 'greedyPassRate') },
    {
      name: 'without a discriminator, sampled',
      colour: 'control',
      points: controlCurve(data, 'passRate'),
      dashed: true,
    },
  ];
  const best = data.checkpoints.find(({ name }) => name === bestName(data));
  const at = lines[0]!.points.find(([step]) => step === best?.step);
  return {
    ...frame(data, 'solved', 'Problems solved on the validation split', lines),
    percent: true,
    ...(at ? { mark: { label: 'best', at } } : {}),
  };
}

export function testsChart(data: ReportData): Chart {
  const lines: Line[] = [
    { name: 'valid tests', colour: 'discriminator', points: validationCurve(data, 'testValidity') },
    { name: 'bugs caught', colour: 'bugs', points: validationCurve(data, 'bugCatchRate') },
  ];
  return { ...frame(data, 'tests', 'Tests of the discriminator on the validation split', lines), percent: true };
}

export function rewardChart(data: ReportData): Chart {
  return frame(
    data,
    'reward',
    'Mean reward of every policy update',
    bothRoles(data, ({ reward }) => reward),
  );
}

const STATISTICS: readonly [id: string, title: string, value: (metrics: StepMetrics) => number][] = [
  ['kl', 'Approximate KL divergence (nats a token)', ({ update }) => update.approxKl],
  ['clip', 'Clip fraction (share of tokens)', ({ update }) => update.clipFraction],
  ['entropy', 'Entropy of sampled tokens (nats)', ({ update }) => update.entropy],
  ['norm', 'Gradient norm before clipping', ({ update }) => update.gradNorm],
];

export function ppoCharts(data: ReportData): Chart[] {
  return STATISTICS.map(([id, title, value]) => ({
    ...frame(data, id, title, bothRoles(data, value)),
    size: [560, 280] as const,
  }));
}

/** The picture of the README: problems solved, the control beside them; colours follow the reader's scheme. */
export function renderCurveSvg(data: ReportData): string {
  const chart = { ...solvedChart(data), heading: true, size: [960, 420] as const };
  const style = `<style>${colourCss('svg')}</style>`;
  return `${chartSvg(chart).markup.replace('</desc>', `</desc>${style}`)}\n`;
}

/** The checkpoint that was chosen: the result's, else the highest score so far (of equal ones the earliest). */
export function bestName(data: ReportData): string | undefined {
  if (data.result) return data.result.best;
  const ordered = [...data.checkpoints].sort((a, b) => b.score - a.score || a.step - b.step);
  return ordered[0]?.name;
}

function bothRoles(data: ReportData, value: (metrics: StepMetrics) => number): Line[] {
  return [
    { name: 'generator', colour: 'generator', points: stepCurve(data, 'generator', value) },
    { name: 'discriminator', colour: 'discriminator', points: stepCurve(data, 'discriminator', value) },
  ];
}

function frame(data: ReportData, id: string, title: string, all: Line[]): Chart {
  const bands = stageBands(data.config);
  const lines = all.filter(({ points }) => points.length > 0);
  return { id, title, description: describe(lines), lines, bands, end: bands.at(-1)?.end ?? 1 };
}

function describe(lines: readonly Line[]): string {
  if (lines.length === 0) return 'No points yet.';
  const number = (point: Point) => `${Number(point[1].toPrecision(3))} at update ${point[0]}`;
  const told = lines.map(({ name, points }) => `${name}: from ${number(points[0]!)} to ${number(points.at(-1)!)}`);
  return `Over policy updates. ${told.join('; ')}.`;
}

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

interface Statistic {
  id: string;
  title: string;
  caption: string;
  value(metrics: StepMetrics): number | undefined;
  optional?: boolean; // shown only where a run has it
}

const STATISTICS: readonly Statistic[] = [
  {
    id: 'kl',
    title: 'Approximate KL divergence (nats a token)',
    caption: 'How far one update moves the policy.',
    value: ({ update }) => update.approxKl,
  },
  {
    id: 'clip',
    title: 'Clip fraction (share of tokens)',
    caption: 'Tokens whose probability ratio left the clip range.',
    value: ({ update }) => update.clipFraction,
  },
  {
    id: 'entropy',
    title: 'Entropy of sampled tokens (nats)',
    caption: 'Falls as the policy grows sure of itself.',
    value: ({ update }) => update.entropy,
  },
  {
    id: 'norm',
    title: 'Gradient norm before clipping',
    caption: 'Of the LoRA gradient, over all tensors.',
    value: ({ update }) => update.gradNorm,
  },
  {
    id: 'base-kl',
    title: 'KL divergence from the base (nats a token)',
    caption: 'What the KL penalty is on: how far training has led the policy away.',
    value: ({ update }) => update.kl,
    optional: true,
  },
  {
    id: 'exact-entropy',
    title: 'Entropy of the policy (nats)',
    caption: 'Over the whole vocabulary: what the entropy bonus is for.',
    value: ({ update }) => update.exactEntropy,
    optional: true,
  },
  {
    id: 'value-loss',
    title: 'Loss of the value head',
    caption: 'Half the squared error of its estimates of returns.',
    value: ({ update }) => update.valueLoss,
    optional: true,
  },
  {
    id: 'explained',
    title: 'Explained variance of returns',
    caption: '1: the value head foresees every return; 0 or less: no better than their mean.',
    value: ({ update }) => update.explainedVariance,
    optional: true,
  },
];

export function ppoCharts(data: ReportData): { chart: Chart; caption: string }[] {
  return STATISTICS.map(({ id, title, caption, value, optional }) => ({
    chart: { ...frame(data, id, title, bothRoles(data, value)), size: [560, 280] as const },
    caption,
    optional,
  })).filter(({ chart, optional }) => !optional || chart.lines.length > 0);
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

function bothRoles(data: ReportData, value: Statistic['value']): Line[] {
  return [
    { name: 'generator', colour: 'generator', points: stepCurve(data, 'generator', value) },
    { name: 'discriminator', colour: 'discriminator', points: stepCurve(data, 'discriminator', value) },
  ];
}

function frame(data: ReportData, id: string, title: string, all: Line[]): Chart {
  const bands = stageBands(data);
  const lines = all.filter(({ points }) => points.length > 0);
  return { id, title, description: describe(lines), lines, bands, end: bands.at(-1)?.end ?? 1 };
}

function describe(lines: readonly Line[]): string {
  if (lines.length === 0) return 'No points yet.';
  const number = (point: Point) => `${Number(point[1].toPrecision(3))} at update ${point[0]}`;
  const told = lines.map(({ name, points }) => `${name}: from ${number(points[0]!)} to ${number(points.at(-1)!)}`);
  return `Over policy updates. ${told.join('; ')}.`;
}

// The charts of a report: held-out curves, rewards, and the statistics of each policy update.
import type { Role } from '../core/schema/chain.js';
import type { StepMetrics } from '../core/schema/metrics.js';
import { type Chart, chartSvg, colourCss, type Line } from './charts.js';
import type { ReportData } from './data.js';
import { controlCurve, type Point, stageBands, stepCurve, supervisedSteps, validationCurve } from './series.js';

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
    'Mean reward of each policy update',
    bothRoles(data, ({ reward }) => reward),
  );
}

type Statistic = (metrics: StepMetrics) => number | undefined;

/** One chart each; those without points are left out. */
const STATISTICS: readonly (readonly [id: string, title: string, caption: string, value: Statistic])[] = [
  [
    'kl',
    'Approximate KL divergence (nats per token)',
    'How far one update moves the policy.',
    (m) => m.update.approxKl,
  ],
  [
    'clip',
    'Clip fraction (share of tokens)',
    'Tokens whose probability ratio left the clip range.',
    (m) => m.update.clipFraction,
  ],
  ['entropy', 'Entropy of sampled tokens (nats)', 'Falls as the policy becomes certain.', (m) => m.update.entropy],
  ['norm', 'Gradient norm before clipping', 'Of the LoRA gradient, over all tensors.', (m) => m.update.gradNorm],
  [
    'base-kl',
    'KL divergence from the base (nats per token)',
    'The quantity that the KL penalty limits: how far training has moved the policy.',
    (m) => m.update.kl,
  ],
  [
    'rollout-kl',
    'KL divergence of the rollout server (nats per token)',
    'How far the server that sampled is from the policy that is trained.',
    (m) => m.update.rolloutKl,
  ],
  [
    'exact-entropy',
    'Entropy of the policy (nats)',
    'Over the whole vocabulary: the quantity that the entropy bonus raises.',
    (m) => m.update.exactEntropy,
  ],
  [
    'value-loss',
    'Loss of the value head',
    'Half the squared error of its estimates of returns.',
    (m) => m.update.valueLoss,
  ],
  [
    'explained',
    'Explained variance of returns',
    '1: the value head predicts every return; 0 or less: no better than their mean.',
    (m) => m.update.explainedVariance,
  ],
  [
    'spread',
    'Standard deviation of rewards',
    'Over the samples of the update. 0 gives no gradient.',
    (m) => m.rewardStd,
  ],
  ['rate', 'Learning rate', 'Of the optimizer in this update.', (m) => m.learningRate],
  ['speed', 'Generation (tokens per second)', 'Sampled tokens over the time of sampling.', (m) => m.tokensPerSecond],
  ['empty', 'Empty outputs', 'Answers without a program, or without a single test.', (m) => m.outcomes.empty ?? 0],
  [
    'cut',
    'Cut answers (share)',
    'Ended by a limit of tokens or by the end of the context, in updates of the role.',
    (m) => m.answers?.[m.role]?.cutRate,
  ],
  [
    'blank',
    'Answers without text (share)',
    'In updates of the role. The model ended them at once.',
    (m) => m.answers?.[m.role]?.emptyRate,
  ],
  [
    'unfit',
    'Prompts that do not fit (share)',
    'They fill the context, so there is no answer. In updates of the role.',
    (m) => m.answers?.[m.role]?.unfitRate,
  ],
  ['suite', 'Tests per suite', 'Mean over the suites of the update.', (m) => m.suiteSize],
  ['unique', 'Distinct test inputs (share)', 'Of the generated tests of the update.', (m) => m.uniqueInputs],
];

export function statisticsCharts(data: ReportData): { chart: Chart; caption: string }[] {
  return STATISTICS.map(([id, title, caption, value]) => ({
    chart: { ...frame(data, id, title, bothRoles(data, value)), size: [560, 280] as const },
    caption,
  })).filter(({ chart }) => chart.lines.length > 0);
}

/** Losses of the warm start; undefined if the run had none. */
export function warmStartChart(data: ReportData): Chart | undefined {
  const curve = (role: Role, loss: 'loss' | 'validationLoss') =>
    supervisedSteps(data, role).flatMap((each): Point[] => (each[loss] === undefined ? [] : [[each.step, each[loss]]]));
  const lines = (['discriminator', 'generator'] as const).flatMap((role): Line[] => [
    { name: `${role}, its examples`, colour: role, points: curve(role, 'loss'), dashed: true },
    { name: `${role}, validation`, colour: role, points: curve(role, 'validationLoss') },
  ]);
  const steps = supervisedSteps(data).length;
  if (steps === 0) return undefined;
  const chart = frame(data, 'warm-start', 'Loss of the warm start (nats per token)', lines);
  return { ...chart, bands: chart.bands.slice(0, 1), end: steps };
}

/** The picture of the README: problems solved, with and without a discriminator. Follows the reader's colour scheme. */
export function renderCurveSvg(data: ReportData): string {
  const chart = { ...solvedChart(data), heading: true, size: [960, 420] as const };
  const style = `<style>${colourCss('svg')}</style>`;
  return `${chartSvg(chart).markup.replace('</desc>', `</desc>${style}`)}\n`;
}

/** The best checkpoint of the result, else the one with the highest score so far (the earliest of equal ones). */
export function bestName(data: ReportData): string | undefined {
  if (data.result) return data.result.best;
  const ordered = [...data.checkpoints].sort((a, b) => b.score - a.score || a.step - b.step);
  return ordered[0]?.name;
}

function bothRoles(data: ReportData, value: Statistic): Line[] {
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
  const ranges = lines.map(({ name, points }) => `${name}: from ${number(points[0]!)} to ${number(points.at(-1)!)}`);
  return `Over policy updates. ${ranges.join('; ')}.`;
}

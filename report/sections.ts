// The parts of the page about the run as a whole: its results, its training, its checkpoints and its inputs.
import { recordedWarnings, warningText } from '../core/answerShares.js';
import { fieldsText } from '../core/liveConfig.js';
import { recordsOf } from '../core/schema/metrics.js';
import type { EvaluationRates } from '../core/schema/run.js';
import { bestName, rewardChart, solvedChart, statisticsCharts, testsChart, warmStartChart } from './curves.js';
import type { ReportData } from './data.js';
import { change, decimal, digest, duration, figure, grouped, percent, points, table } from './figures.js';
import { type Html, html } from './html.js';
import { steps } from './series.js';

type Rates = Partial<EvaluationRates>;

type Row<Key> = readonly [key: Key, title: string, meaning: string];

const RATES: readonly Row<keyof EvaluationRates>[] = [
  ['passRate', 'Solved, sampled', 'programs that pass every hidden test, one sample a problem'],
  ['greedyPassRate', 'Solved, greedy', 'the same with the most likely token each time'],
  ['testValidity', 'Valid tests', 'generated tests that the reference solution agrees with'],
  ['bugCatchRate', 'Bugs caught', 'sets of tests in which a valid test fails the program'],
];

export function headline(data: ReportData): Html {
  const { result, config } = data;
  const named = (model: string) => (model === 'tiny' ? 'the embedded model' : model);
  const other = config.discriminator.model;
  const model = `${named(config.model)}${other === null ? '' : ` against ${named(other)}`}${config.mode === 'unified' ? ' in both roles with one adapter' : ''}`;
  if (!result) {
    const last = steps(data).at(-1);
    return html`<h1>Run ${data.runId}: ${last ? `stage ${last.stage}, update ${last.step}` : 'no update yet'}</h1>
<p class="muted">The run is not finished. Results on held-out problems appear when it ends.</p>`;
  }
  const { before, after } = result;
  return html`<h1>${percent(before.passRate)} → ${percent(after.passRate)} of held-out problems solved</h1>
<p class="muted">Run <strong>${data.runId}</strong>: ${model}, stages ${config.schedule.stages.join(', ')}, seed ${result.seed}, trained in ${duration(result.trainingSeconds)}. Judged by hidden tests on up to ${config.evaluation.testProblems} problems of the test split, which is used for nothing else.${result.stopped !== undefined && html` It stopped early: ${result.stopped}.`}</p>
<dl class="tiles">${RATES.map(
    ([key, title]) =>
      html`<div class="tile"><dt>${title}</dt><dd>${change(before[key], after[key])}<small>${points(before[key], after[key])}</small></dd></div>
`,
  )}</dl>`;
}

export function beforeAfter(data: ReportData): Html | undefined {
  const { result, control } = data;
  if (!result) return undefined;
  const withControl = control?.after !== undefined;
  const after: Rates = control?.after ?? {};
  const { warmStart } = result;
  return html`<h2>Before and after, on held-out problems</h2>
${table({
  caption: `Test split; “after” is ${result.best}${withControl ? '; the last column is the same run without a discriminator' : ''}.`,
  head: [
    'rate',
    'before',
    ...(warmStart ? ['after the warm start'] : []),
    'after',
    'change',
    ...(withControl ? ['without a discriminator'] : []),
  ],
  rows: RATES.map(([key, title, meaning]) => ({
    cells: [
      html`${title}<br><small>${meaning}</small>`,
      percent(result.before[key]),
      ...(warmStart ? [percent(warmStart[key])] : []),
      percent(result.after[key]),
      points(result.before[key], result.after[key]),
      ...(withControl ? [percent(after[key])] : []),
    ],
  })),
})}`;
}

/** What keeps answers from being judged, and the field to change. */
export function warnings(data: ReportData): Html | undefined {
  const found = recordedWarnings(data.metrics);
  if (found.length === 0) return undefined;
  return html`<h2>Warnings</h2>
<ul>${found.map((warning) => html`<li class="warn">${warningText(warning)}</li>`)}</ul>`;
}

export function curves(data: ReportData): Html {
  const beside = data.control ? ' Dashed: the same run without a discriminator, after as many generator updates.' : '';
  return html`<h2>Learning curves</h2>
${figure(solvedChart(data), `Problems whose program passes every hidden test, after each epoch. The shaded bands are the stages.${beside}`)}
${figure(testsChart(data), 'Generated tests that the reference solution agrees with, and test sets that find a bug in the base model’s programs.')}
${controlNote(data)}`;
}

function controlNote({ control }: ReportData): Html | undefined {
  if (!control) return undefined;
  return html`<p class="muted">The run without a discriminator was recorded with <code>${control.command}</code>: seed ${control.config.seed}, adapter ${digest(control.digest)}. It trains on the given tests only.</p>`;
}

export function training(data: ReportData): Html {
  const warmStart = warmStartChart(data);
  return html`<h2>Training</h2>
${warmStart && figure(warmStart, 'Supervised steps before the first stage, on reference solutions and on tests with their answers. A role keeps the adapter with the lowest validation loss.')}
${figure(rewardChart(data), 'Mean over the samples of the update.')}
<div class="pair">${statisticsCharts(data).map(({ chart, caption }) => figure(chart, caption))}</div>`;
}

export function checkpoints(data: ReportData): Html | undefined {
  if (data.checkpoints.length === 0) return undefined;
  const best = bestName(data);
  const ordered = [...data.checkpoints].sort((a, b) => a.step - b.step);
  return html`<h2>Checkpoints</h2>
${table({
  caption:
    'Rates on the validation split. Score = 0.7 · generator reward + 0.3 · test validity; the best one is marked.',
  head: ['checkpoint', 'update', 'score', 'sampled', 'greedy', 'valid tests', 'bugs caught', 'digest'],
  rows: ordered.map(({ name, step, score, validation, digest: of }) => ({
    mark: name === best,
    cells: [
      html`<code>${name}</code>${name === best && html` <strong>best</strong>`}`,
      String(step),
      decimal(score),
      ...RATES.map(([key]) => percent(validation[key])),
      digest(of),
    ],
  })),
})}`;
}

/** Requests of people while the run went on, and budgets that ended it. */
export function requests(data: ReportData): Html | undefined {
  const controls = recordsOf(data.metrics, 'control').sort((a, b) => a.step - b.step || a.index - b.index);
  if (controls.length === 0) return undefined;
  return html`<h2>Control requests</h2>
${table({
  caption: 'Each request with the policy update after which it took effect.',
  words: true,
  head: ['update', 'request', 'time'],
  rows: controls.map(({ step, action, fields, reason, at }) => ({
    cells: [String(step), [action, fields && fieldsText(fields), reason].filter(Boolean).join(' '), at],
  })),
})}`;
}

export function origin(data: ReportData): Html {
  const rows: [string, Html | string][] = [
    ['model', digest(data.digests.model)],
    ...(data.digests.discriminatorModel === undefined
      ? []
      : [['model of the discriminator', digest(data.digests.discriminatorModel)] satisfies [string, Html]]),
    ['problems', digest(data.digests.data)],
    ['configuration', digest(data.digests.config)],
    ['code version', data.codeVersion],
    ['seed', String(data.config.seed)],
    ['sampled tokens', grouped(steps(data).reduce((sum, step) => sum + step.sampledTokens, 0))],
  ];
  if (data.result) {
    const { generator, discriminator } = data.result.digests;
    if (generator === discriminator) rows.push(['adapter', digest(generator)]);
    else rows.push(['generator adapter', digest(generator)], ['discriminator adapter', digest(discriminator)]);
  }
  return html`<h2>Provenance</h2>
${table({ caption: 'Digests are SHA-256; the same inputs and the same code give the same adapters.', words: true, head: ['what', 'value'], rows: rows.map((cells) => ({ cells })) })}
<details><summary>Configuration</summary><pre>${JSON.stringify(data.config, null, 2)}</pre></details>`;
}

// Formats numbers, tables and figures.
import { type Chart, chartSvg } from './charts.js';
import { type Html, html } from './html.js';

export const percent = (rate: number | undefined): string =>
  rate === undefined ? '–' : `${(100 * rate).toFixed(1)} %`;

/** '65.2 → 93.2 %' */
export const change = (before: number, after: number): string => `${(100 * before).toFixed(1)} → ${percent(after)}`;

/** '+12.3 points' with a true minus sign. */
export function points(before: number | undefined, after: number | undefined): string {
  if (before === undefined || after === undefined) return '–';
  const change = 100 * (after - before);
  return `${change < 0 ? '−' : '+'}${Math.abs(change).toFixed(1)} points`;
}

export function decimal(value: number | undefined, digits = 3): string {
  return value === undefined ? '–' : value.toFixed(digits).replace('-', '−');
}

/** '1,234,567'. toLocaleString would first load the tables of every language. */
export const grouped = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');

export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
}

/** The first digits, with the whole digest as tooltip. */
export function digest(value: string): Html {
  const hex = value.replace(/^sha256:/, '');
  return html`<code title="${value}">${hex.length > 16 ? `${hex.slice(0, 12)}…` : hex}</code>`;
}

export type Cell = string | Html;

export interface TableSpec {
  caption: string;
  head: readonly string[];
  rows: readonly { cells: readonly Cell[]; mark?: boolean }[];
  words?: boolean; // align all columns left
}

export function table({ caption, head, rows, words }: TableSpec): Html {
  return html`<div class="scroll"><table${words && html` class="words"`}><caption>${caption}</caption>
<thead><tr>${head.map((text) => html`<th scope="col">${text}</th>`)}</tr></thead>
<tbody>${rows.map(
    ({ cells, mark }) =>
      html`<tr${mark ? html` class="best"` : ''}>${cells.map((cell, i) => (i === 0 ? html`<th scope="row">${cell}</th>` : html`<td>${cell}</td>`))}</tr>
`,
  )}</tbody></table></div>`;
}

/** A chart with its caption, and its numbers as a table. */
export function figure(chart: Chart, caption: string): Html {
  if (chart.lines.length === 0) return html`<h3>${chart.title}</h3><p class="muted">No points yet.</p>`;
  return html`<figure><h3>${chart.title}</h3><div class="plot">${chartSvg(chart)}</div>
<figcaption>${caption}</figcaption>
<details><summary>Data as a table</summary>${table(numbersOf(chart))}</details></figure>`;
}

function numbersOf(chart: Chart): TableSpec {
  const at = [...new Set(chart.lines.flatMap((line) => line.points.map(([x]) => x)))].sort((a, b) => a - b);
  const show = (value: number | undefined) =>
    chart.percent ? percent(value) : value === undefined ? '–' : String(Number(value.toPrecision(4))).replace('-', '−');
  const known = chart.lines.map((line) => new Map(line.points));
  return {
    caption: chart.title,
    head: ['policy updates', ...chart.lines.map(({ name }) => name)],
    rows: at.map((x) => ({ cells: [String(x), ...known.map((values) => show(values.get(x)))] })),
  };
}

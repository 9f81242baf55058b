// Line charts as static SVG. ECharts draws them without a DOM. Its colours are replaced by CSS variables with the light
// colour as fallback, so that one picture works on light and dark pages and also outside a page.
import * as echarts from 'echarts/dist/echarts.esm.min';
import { escapeHtml, Html } from './html.js';
import type { Point, StageBand } from './series.js';

/** name → [light, dark]. ECharts gets the light values: each must be unique and have six lower-case digits. */
export const COLOURS = {
  ink: ['#1f2430', '#e6e9f0'],
  muted: ['#5b6472', '#a3adbd'],
  grid: ['#dfe3ea', '#323947'],
  band: ['#eef1f6', '#20252f'],
  sampled: ['#1d63d8', '#7fb0ff'],
  greedy: ['#0b7a6f', '#4fd1c0'],
  control: ['#b4530a', '#f2a65e'],
  discriminator: ['#8b2fc9', '#d19bf7'],
  bugs: ['#c2255c', '#ff8fb3'],
  generator: ['#1d63d9', '#7fb0ff'],
} as const satisfies Record<string, readonly [string, string]>;
export type Colour = keyof typeof COLOURS;

export interface Line {
  name: string;
  colour: Colour;
  points: readonly Point[];
  dashed?: boolean;
}

export interface Chart {
  id: string; // unique in its page
  title: string;
  description: string; // for screen readers
  lines: readonly Line[];
  bands: readonly StageBand[];
  end: number; // of the axis, in policy updates
  percent?: boolean; // values are rates in 0..1
  mark?: { label: string; at: Point };
  size?: readonly [width: number, height: number];
  heading?: boolean; // draw the title inside the picture
}

const FONT = 'system-ui, -apple-system, Segoe UI, Roboto, DejaVu Sans, sans-serif';

/** A self-contained SVG element with a title and a description for screen readers. */
export function chartSvg(chart: Chart): Html {
  const [width, height] = chart.size ?? [860, 340];
  const drawing = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
  let svg: string;
  try {
    drawing.setOption(optionsOf(chart));
    svg = drawing.renderToSVGString();
  } finally {
    drawing.dispose(); // its timer would keep the process alive
  }
  return new Html(themed(svg, chart, width, height));
}

function optionsOf(chart: Chart): echarts.EChartsCoreOption {
  const top = chart.heading ? 88 : 54;
  const text = { color: COLOURS.muted[0], fontFamily: FONT, fontSize: 13 };
  const percent = (value: number) => `${Math.round(value * 100)} %`;
  return {
    animation: false,
    textStyle: { fontFamily: FONT },
    ...(chart.heading
      ? {
          title: {
            text: chart.title,
            left: 8,
            top: 6,
            textStyle: { color: COLOURS.ink[0], fontSize: 17, fontFamily: FONT },
          },
        }
      : {}),
    legend: {
      top: chart.heading ? 36 : 2,
      left: 4,
      itemWidth: 26,
      itemGap: 18,
      itemStyle: { opacity: 0 },
      textStyle: { ...text, color: COLOURS.ink[0] },
      data: chart.lines.map(({ name, dashed }) => ({ name, lineStyle: { type: dashed ? 'dashed' : 'solid' } })),
    },
    grid: { left: 62, right: 24, top, bottom: 48 },
    xAxis: {
      type: 'value',
      min: 0,
      max: Math.max(1, chart.end),
      name: 'policy updates',
      nameLocation: 'middle',
      nameGap: 28,
      nameTextStyle: text,
      axisLabel: text,
      axisLine: { onZero: false, lineStyle: { color: COLOURS.muted[0] } },
      splitLine: { show: false },
    },
    yAxis: {
      type: 'value',
      scale: !chart.percent,
      ...(chart.percent ? { min: lowestPercent(chart), max: 1 } : {}),
      axisLabel: { ...text, ...(chart.percent ? { formatter: percent } : {}) },
      axisLine: { show: false },
      axisTick: { show: false },
      splitLine: { lineStyle: { color: COLOURS.grid[0] } },
    },
    series: [bandSeries(chart), ...chart.lines.map((line) => lineSeries(line, chart))],
  };
}

function lineSeries(line: Line, chart: Chart): object {
  const colour = COLOURS[line.colour][0];
  return {
    name: line.name,
    type: 'line',
    data: line.points.map(([x, y]) => [x, y]),
    showSymbol: line.points.length < 40,
    symbol: 'circle',
    symbolSize: 5,
    color: colour,
    lineStyle: { color: colour, width: 2.2, type: line.dashed ? 'dashed' : 'solid' },
    itemStyle: { color: colour },
    ...(chart.mark && line === chart.lines[0]
      ? {
          markPoint: {
            symbol: 'circle',
            symbolSize: 11,
            data: [{ coord: chart.mark.at, value: 0 }],
            itemStyle: { color: colour },
            label: {
              show: true,
              position: 'bottom',
              formatter: chart.mark.label,
              color: COLOURS.ink[0],
              fontSize: 12,
              fontFamily: FONT,
            },
          },
        }
      : {}),
  };
}

const bandName = (stage: number, short: boolean): string =>
  stage === 0 ? 'warm start' : short ? String(stage) : `stage ${stage}`;

/** Labels every stage and shades every second one. */
function bandSeries(chart: Chart): object {
  return {
    type: 'line',
    data: [],
    silent: true,
    z: -2, // behind the grid
    color: COLOURS.band[0],
    markArea: {
      silent: true,
      z: -2,
      label: { show: true, position: 'top', distance: 4, color: COLOURS.muted[0], fontSize: 12, fontFamily: FONT },
      data: chart.bands.map(({ stage, start, end }, index) => [
        {
          name: bandName(stage, (chart.size?.[0] ?? 860) < 600),
          xAxis: start,
          itemStyle: { color: COLOURS.band[0], opacity: index % 2 === 0 ? 1 : 0 },
        },
        { xAxis: end },
      ]),
    },
  };
}

/** The start of the axis: zero if values are low, a tenth below the least if all are high. */
function lowestPercent(chart: Chart): number {
  const least = Math.min(1, ...chart.lines.flatMap((line) => line.points.map(([, y]) => y)));
  return least < 0.3 ? 0 : Math.max(0, Math.floor(least * 10 - 0.5) / 10);
}

function themed(svg: string, chart: Chart, width: number, height: number): string {
  // Remove invisible parts, parts that only a live chart needs, and ECharts' counter of drawn charts.
  let out = svg
    .replace(/<style[\s\S]*?<\/style>/g, '')
    .replace(/ (?:class|pointer-events|ecmeta_\w+)="[^"]*"/g, '')
    .replace(/ stroke="[^"]*" stroke-width="0"/g, '')
    .replace(/ fill="[^"]*" fill-opacity="0"/g, ' fill="none"')
    .replace(/zr\d+-/g, `${chart.id}-`);
  for (const [name, [light]] of Object.entries(COLOURS))
    out = out.replaceAll(`"${light}"`, `"var(--${name}, ${light})"`);
  const label = `${chart.id}-title ${chart.id}-text`;
  const open = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" aria-labelledby="${label}">`;
  const spoken = `<title id="${chart.id}-title">${escapeHtml(chart.title)}</title><desc id="${chart.id}-text">${escapeHtml(chart.description)}</desc>`;
  return out.replace(/^<svg[^>]*>/, open + spoken);
}

/** CSS that defines the variables of COLOURS, for a page or an SVG file. */
export function colourCss(selector: string): string {
  const values = (which: 0 | 1) => Object.entries(COLOURS).map(([name, pair]) => `--${name}:${pair[which]}`);
  return `${selector}{${values(0).join(';')}}@media(prefers-color-scheme:dark){${selector}{${values(1).join(';')}}}`;
}

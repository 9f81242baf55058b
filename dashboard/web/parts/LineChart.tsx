// A chart of one metric over policy updates, drawn with uPlot. A line with few points is drawn as points only, because
// nothing was measured between them. A click or Enter opens the step at the cursor; the arrow keys move the cursor; dragging
// zooms. A table lists the same numbers.
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Band, Chart, Point, RunEvent } from '../../api.js';
import { decimal, percent } from '../format.js';
import { Details, Table } from './common.js';

interface Props {
  chart: Chart;
  bands: readonly Band[];
  events?: readonly RunEvent[];
  onPick?: (step: number) => void;
}

const HEIGHT = 170;
const LEGEND_ROW = 19; // the height of a row of the legend in pixels; style.css has the same
const FEW = 6; // a line with fewer points is drawn as points only
const AXIS = 56; // the width of the left axis in pixels; Schedule has the same margin in style.css

/** The charts that show best whether a run is working. */
export const MAIN_CHARTS = ['evaluation.passRate', 'step.passRate', 'step.validity', 'step.reward'];

export function LineChart({ chart, bands, events = [], onPick }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const picked = useRef<number | undefined>(undefined); // the index of the step that the arrow keys chose
  const props = useRef<Props>({ chart, bands });
  props.current = { chart, bands, events, onPick };
  const scheme = useColourScheme();
  const [spoken, setSpoken] = useState('');
  const isVisible = useVisibility(place);
  // a page has dozens of charts, so a chart off the screen waits until the browser is idle, or prints
  const draw = (): uPlot | undefined => {
    const element = place.current; // null after the page has changed
    if (element) plot.current ??= new uPlot(optionsOf(props, element), alignedData(props.current.chart), element);
    return plot.current;
  };
  // a change of this text needs a new plot; other changes are drawn into the existing plot
  const shape = `${scheme} ${chart.id} ${chart.lines.map(({ name }) => name).join()}`;
  useEffect(() => {
    const element = place.current!;
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    window.addEventListener('beforeprint', draw);
    const idle = window.requestIdleCallback?.(draw);
    return () => {
      if (idle) window.cancelIdleCallback(idle);
      window.removeEventListener('beforeprint', draw);
      observer.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => {
    if (isVisible) draw()?.setData(alignedData(chart));
  }, [chart, isVisible, shape]);

  const onKeyDown = (event: KeyboardEvent): void => {
    const created = draw();
    if (!created) return;
    const [steps] = created.data;
    const at = picked.current ?? created.cursor.idx ?? undefined;
    if (event.key === 'Enter' && at !== undefined) onPick?.(steps[at]!);
    const next = { ArrowLeft: (at ?? steps.length) - 1, ArrowRight: (at ?? -1) + 1, Home: 0, End: steps.length - 1 }[
      event.key
    ];
    if (next === undefined) return;
    event.preventDefault();
    const index = Math.min(steps.length - 1, Math.max(0, next));
    picked.current = index;
    created.setCursor({ left: created.valToPos(steps[index]!, 'x'), top: HEIGHT / 4 });
    setSpoken(spokenValues(chart, steps[index]!));
  };
  return (
    <figure>
      <figcaption>{chart.title}</figcaption>
      <section
        ref={place}
        class="plot"
        style={{ minHeight: HEIGHT + LEGEND_ROW * (chart.lines.length + 1) }} // so that nothing moves when it is drawn
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move the cursor
        tabIndex={0}
        aria-label={`${chart.title} over policy updates. Arrow keys move${onPick ? ', Enter opens the step' : ''}.`}
        onKeyDown={onKeyDown}
        onMouseMove={() => {
          picked.current = undefined;
        }}
      />
      <div class="unseen" aria-live="polite">
        {spoken}
      </div>
      <Details summary="Numbers">{() => <NumberTable chart={chart} />}</Details>
    </figure>
  );
}

function NumberTable({ chart }: { chart: Chart }) {
  const [steps] = alignedData(chart);
  return (
    <Table
      label={`${chart.title}: numbers`}
      head={['step', ...chart.lines.map(({ name }) => name)]}
      numbers={chart.lines.map((_, i) => i + 1)}
      rows={[...steps].map((step) => [step, ...chart.lines.map((line) => textOf(chart, pointAt(line, step)))])}
    />
  );
}

const format = ({ percent: isRate }: Chart, value: number | undefined | null): string =>
  isRate ? percent(value ?? undefined) : decimal(value ?? undefined, 4);

/** The value of a point and its interval. */
function textOf(chart: Chart, point: Point | undefined): string {
  const { value, low, high } = point ?? {};
  const interval = low === undefined ? '' : ` (${format(chart, low)} to ${format(chart, high)})`;
  return `${format(chart, value)}${interval}`;
}

const spokenValues = (chart: Chart, step: number): string =>
  `Step ${step}: ${chart.lines
    .flatMap((line) => {
      const point = pointAt(line, step);
      return point ? [`${line.name} ${textOf(chart, point)}`] : [];
    })
    .join(', ')}`;

type Line = Chart['lines'][number];

const pointAt = ({ points }: Line, step: number): Point | undefined => points.find((point) => point.step === step);

const isSparse = ({ points }: Line): boolean => points.length < FEW;

/** A list of steps, followed by a list of values for each line. */
function alignedData({ lines }: Chart): uPlot.AlignedData {
  const steps = [...new Set(lines.flatMap(({ points }) => points.map(({ step }) => step)))].sort((a, b) => a - b);
  const series = lines.map(({ points }) => {
    const at = new Map(points.map(({ step, value }) => [step, value]));
    return steps.map((step) => at.get(step));
  });
  return [steps, ...series] as uPlot.AlignedData;
}

function optionsOf(props: { current: Props }, element: HTMLElement): uPlot.Options {
  const { chart } = props.current;
  const css = getComputedStyle(element);
  const colour = (name: string): string => css.getPropertyValue(`--${name}`).trim();
  const axis = { stroke: colour('muted'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false } };
  const font = `12px ${css.fontFamily}`;
  const series = chart.lines.map((line): uPlot.Series => {
    const stroke = colour(line.colour ?? line.name);
    const single = isSparse(line) ? { paths: () => null, points: { show: true, size: 8, fill: stroke } } : {};
    const value: uPlot.Series.Value = (plot, _, at, index) => nearText(props.current.chart, plot, at, index);
    return { label: line.name, stroke, width: 2, spanGaps: true, ...single, value };
  });
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [8, 8, 0, 0],
    series: [{ label: 'step', value: (_, step) => step ?? 'last' }, ...series],
    scales: {
      x: { time: false, range: stepRange(props.current.bands) },
      y: { range: valueRange(props) },
    },
    axes: [
      { ...axis, font, size: 28, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10_000] },
      { ...axis, font, size: AXIS, values: (_, values) => values.map((value) => format(chart, value)) },
    ],
    cursor: { sync: { key: 'run' }, y: false, dataIdx: nearest },
    legend: { live: true },
    hooks: {
      drawClear: [(created) => drawBands(created, props.current.bands, colour)],
      draw: [
        (created) => drawIntervals(created, props.current.chart.lines, colour),
        (created) => drawEvents(created, props.current.events ?? [], colour('warn')),
      ],
      ready: [(created) => pickOnClick(created, (step) => props.current.onPick?.(step))],
    },
  };
}

/** The index of the closest value of a series. Two roles are trained in turn, so a series has no value at other steps. */
function nearest(plot: uPlot, series: number, index: number): number {
  const values = plot.data[series]!;
  for (let distance = 0; distance < values.length; distance++)
    for (const at of [index - distance, index + distance])
      if (values[at] !== undefined && values[at] !== null) return at;
  return index;
}

/** The text of a line in the legend: the exact value, and the step of the value if it is not the step at the cursor. */
function nearText(chart: Chart, plot: uPlot, series: number, index: number | null): string {
  const at = index ?? nearest(plot, series, plot.data[0].length - 1); // without a cursor, the last value is shown
  const step = plot.data[0][at];
  const line = chart.lines.find(({ name }) => name === plot.series[series]!.label);
  const point = line && pointAt(line, step!);
  if (point === undefined) return '–';
  return `${textOf(chart, point)}${at === plot.cursor.idx ? '' : ` (step ${step})`}`;
}

/** The axis covers the whole schedule, unless the user zooms in. */
const stepRange =
  (bands: readonly Band[]): uPlot.Range.Function =>
  (plot, least, most) => {
    const [first = 0, last = first] = [plot.data[0][0], plot.data[0].at(-1)];
    const isZoomed = first !== last && (least !== first || most !== last); // uPlot asks for 0 to 100 if step 0 is alone
    if (isZoomed && least !== most) return [least, most];
    return bands.length > 0 ? [bands[0]!.start, bands.at(-1)!.end] : [Math.min(0, first), Math.max(first + 1, last)];
  };

const MARGIN = 0.04; // space that keeps points at 0 % and 100 % whole
const boundsOf = ({ value, low = value, high = value }: Point): [low: number, high: number] => [low, high];

/** Leaves room for the intervals. Limits the axis of a rate, which uPlot would extend far beyond 100 %. */
const valueRange =
  ({ current: { chart } }: { current: Props }): uPlot.Range.Function =>
  (_, least, most) => {
    if (chart.percent && least === most) return [0, 1];
    const ends = chart.lines.flatMap(({ points }) => points.flatMap(boundsOf));
    const [low, high] = uPlot.rangeNum(Math.min(least, ...ends), Math.max(most, ...ends), 0.1, true);
    return chart.percent ? [Math.max(low!, -MARGIN), Math.min(high!, 1 + MARGIN)] : [low, high];
  };

/** Shades every second stage, and draws the phases as a strip on the axis in the colours of the schedule. */
function drawBands(plot: uPlot, bands: readonly Band[], colour: (name: string) => string): void {
  const { ctx, bbox } = plot;
  const stages = [...new Set(bands.map(({ stage }) => stage))];
  const height = 4 * devicePixelRatio;
  clipTo(plot, height);
  for (const { stage, phase, start, end } of bands) {
    const left = plot.valToPos(start, 'x', true);
    const width = plot.valToPos(end, 'x', true) - left;
    ctx.fillStyle = colour(stages.indexOf(stage) % 2 === 0 ? 'band' : 'card');
    ctx.fillRect(left, bbox.top, width, bbox.height);
    ctx.fillStyle = colour(phase);
    ctx.fillRect(left, bbox.top + bbox.height, width, height);
  }
  ctx.restore();
}

/** Saves the state of the canvas, and limits drawing to the plot and a strip below it. */
function clipTo({ ctx, bbox }: uPlot, strip: number): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height + strip);
  ctx.clip();
}

/** Draws the intervals as bars at single points, or as a shade along a line. */
function drawIntervals(plot: uPlot, lines: readonly Line[], colour: (name: string) => string): void {
  const { ctx } = plot;
  clipTo(plot, 0);
  ctx.lineWidth = 2 * devicePixelRatio;
  for (const line of lines) {
    const at = (point: Point, end: 0 | 1): [number, number] => [
      plot.valToPos(point.step, 'x', true),
      plot.valToPos(boundsOf(point)[end], 'y', true),
    ];
    ctx.strokeStyle = ctx.fillStyle = colour(line.colour ?? line.name);
    ctx.beginPath();
    if (isSparse(line)) {
      for (const point of line.points) {
        ctx.moveTo(...at(point, 0));
        ctx.lineTo(...at(point, 1));
      }
      ctx.stroke();
    } else if (line.points.some(({ low }) => low !== undefined)) {
      ctx.globalAlpha = 0.14;
      for (const point of line.points) ctx.lineTo(...at(point, 0));
      for (const point of line.points.toReversed()) ctx.lineTo(...at(point, 1));
      ctx.fill();
      ctx.globalAlpha = 1;
    }
  }
  ctx.restore();
}

/** Draws a dashed line at every control request and every failure. */
function drawEvents({ ctx, bbox, valToPos }: uPlot, events: readonly RunEvent[], colour: string): void {
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const { step } of events) {
    const x = valToPos(step + 0.5, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/** Calls `pick` on a click. A click that ends a drag is ignored, because the drag has zoomed. */
function pickOnClick(plot: uPlot, pick: (step: number) => void): void {
  let downAt = 0;
  plot.over.addEventListener('mousedown', ({ clientX }) => {
    downAt = clientX;
  });
  plot.over.addEventListener('click', ({ clientX }) => {
    const { idx } = plot.cursor;
    if (idx !== null && idx !== undefined && Math.abs(clientX - downAt) < 4) pick(plot.data[0][idx]!);
  });
}

/** Whether a part of the element is on the screen. */
function useVisibility(place: RefObject<HTMLElement | null>): boolean {
  const [isVisible, setVisible] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => setVisible(entry!.isIntersecting));
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);
  return isVisible;
}

/** Renders again when the colour scheme changes, because colours on a canvas do not follow the style sheet. */
function useColourScheme(): string {
  const query = matchMedia('(prefers-color-scheme: dark)');
  const [isDark, setDark] = useState(query.matches);
  useEffect(() => {
    const update = (): void => setDark(query.matches);
    query.addEventListener('change', update);
    return () => query.removeEventListener('change', update);
  }, [query]);
  return isDark ? 'dark' : 'light';
}

// One metric over policy updates (uPlot). A click or Enter opens the step at the cursor; the arrow keys move the cursor;
// dragging zooms. The numbers are also there as a table.
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Band, Chart, RunEvent } from '../../api.js';
import { decimal, percent, stageName } from '../format.js';
import { Details, Scroll } from './common.js';

interface Props {
  chart: Chart;
  bands: readonly Band[];
  events?: readonly RunEvent[];
  onPick?: (step: number) => void;
}

const HEIGHT = 200;

export function LineChart({ chart, bands, events = [], onPick }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const picked = useRef<number | undefined>(undefined); // index of a step, by the arrow keys; new data removes the cursor
  const props = useRef<Props>({ chart, bands });
  props.current = { chart, bands, events, onPick };
  const scheme = useColourScheme();
  const [spoken, setSpoken] = useState('');
  const isVisible = useVisibility(place);
  // a page has dozens of charts: only those on the screen, or on paper, are drawn and follow a run
  const draw = (): uPlot => {
    const element = place.current!;
    plot.current ??= new uPlot(optionsOf(props, element), alignedData(props.current.chart), element);
    return plot.current;
  };
  // names everything that needs a new plot; other changes are drawn into it
  const shape = `${scheme} ${chart.id} ${chart.lines.map(({ name }) => name).join()}`;
  useEffect(() => {
    const element = place.current!;
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    window.addEventListener('beforeprint', draw);
    return () => {
      window.removeEventListener('beforeprint', draw);
      observer.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => {
    if (isVisible) draw().setData(alignedData(chart));
  }, [chart, isVisible, shape]);

  const onKeyDown = (event: KeyboardEvent): void => {
    const created = draw();
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
    <Scroll label={`${chart.title}: numbers`}>
      <table>
        <thead>
          <tr>
            <th scope="col">step</th>
            {chart.lines.map(({ name }) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {[...steps].map((step) => (
            <tr key={step}>
              <th scope="row">{step}</th>
              {chart.lines.map(({ name, points }) => (
                <td key={name} class="number">
                  {format(chart, points.find((point) => point.step === step)?.value)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

const format = ({ percent: isRate }: Chart, value: number | undefined | null): string =>
  isRate ? percent(value ?? undefined) : decimal(value ?? undefined, 4);

const spokenValues = (chart: Chart, step: number): string =>
  `Step ${step}: ${chart.lines
    .flatMap(({ name, points }) => {
      const point = points.find((each) => each.step === step);
      return point ? [`${name} ${format(chart, point.value)}`] : [];
    })
    .join(', ')}`;

const hasInterval = (line: Chart['lines'][number]): boolean =>
  line.points.some(({ interval }) => interval !== undefined);

/** Steps, then for each line its values and, if it has intervals, its upper and lower bound. */
function alignedData({ lines }: Chart): uPlot.AlignedData {
  const steps = [...new Set(lines.flatMap(({ points }) => points.map(({ step }) => step)))].sort((a, b) => a - b);
  const series = lines.flatMap((line) => {
    const at = new Map(line.points.map((point) => [point.step, point]));
    const values = (of: (point: Chart['lines'][number]['points'][number]) => number) =>
      steps.map((step) => {
        const point = at.get(step);
        return point === undefined ? undefined : of(point);
      });
    const value = values((point) => point.value);
    if (!hasInterval(line)) return [value];
    return [value, values((p) => p.value + (p.interval ?? 0)), values((p) => p.value - (p.interval ?? 0))];
  });
  return [steps, ...series] as uPlot.AlignedData;
}

function optionsOf(props: { current: Props }, element: HTMLElement): uPlot.Options {
  const { chart } = props.current;
  const css = getComputedStyle(element);
  const colour = (name: string): string => css.getPropertyValue(`--${name}`).trim();
  const axis = { stroke: colour('muted'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false } };
  const font = `12px ${css.fontFamily}`;
  const series: uPlot.Series[] = [{ label: 'step' }];
  const intervals: uPlot.Band[] = [];
  for (const line of chart.lines) {
    const stroke = colour(line.colour ?? line.name);
    const spanGaps = true;
    const dash = line.dashed ? { dash: [6, 4] } : {};
    series.push({ label: line.name, stroke, width: 2, spanGaps, ...dash, value: (_, value) => format(chart, value) });
    if (!hasInterval(line)) continue;
    const bound = (label: string): uPlot.Series => ({
      label,
      stroke: 'transparent',
      class: 'bound',
      spanGaps,
      points: { show: false },
    });
    series.push(bound(`${line.name}, upper 95 % bound`), bound(`${line.name}, lower 95 % bound`));
    intervals.push({ series: [series.length - 2, series.length - 1], fill: `${stroke}22` });
  }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    series: series.map((each) => ({
      ...each,
      value: each.value ?? ((_, value) => (value === null ? '–' : decimal(value))),
    })),
    bands: intervals,
    scales: {
      x: { time: false, range: stepRange(props.current.bands) },
      ...(chart.percent && { y: { range: rateRange } }),
    },
    axes: [
      { ...axis, font, size: 28 },
      { ...axis, font, size: 56, values: (_, values) => values.map((value) => format(chart, value)) },
    ],
    cursor: { sync: { key: 'run' }, y: false },
    legend: { live: true },
    hooks: {
      drawClear: [(created) => drawBands(created, props.current.bands, colour)],
      draw: [(created) => drawEvents(created, props.current.events ?? [], colour('warn'))],
      ready: [(created) => pickOnClick(created, (step) => props.current.onPick?.(step))],
    },
  };
}

/** Without a range of its own, the axis of a single point would end far beyond the run. */
const stepRange =
  (bands: readonly Band[]): uPlot.Range.Function =>
  (_, least, most) =>
    least === most ? [0, bands.at(-1)?.end ?? most + 1] : [least, most];

/** Without a range of its own, a rate that never changes would get an axis far beyond 100 %. */
const rateRange = (_: uPlot, least: number, most: number): uPlot.Range.MinMax =>
  least === most ? [0, 1] : uPlot.rangeNum(least, most, 0.1, true);

/** Every second stage is shaded, and each has its name. */
function drawBands(plot: uPlot, bands: readonly Band[], colour: (name: string) => string): void {
  const { ctx, bbox } = plot;
  const stages = [...new Set(bands.map(({ stage }) => stage))];
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const [i, stage] of stages.entries()) {
    const own = bands.filter((band) => band.stage === stage);
    const left = plot.valToPos(own[0]!.start + 0.5, 'x', true);
    const right = plot.valToPos(own.at(-1)!.end + 0.5, 'x', true);
    ctx.fillStyle = colour(i % 2 === 0 ? 'band' : 'card');
    ctx.fillRect(left, bbox.top, right - left, bbox.height);
    ctx.fillStyle = colour('muted');
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    const name = stageName(stage);
    const seen = Math.max(left, bbox.left);
    if (ctx.measureText(name).width < right - seen) ctx.fillText(name, seen + 4, bbox.top + 12 * devicePixelRatio);
  }
  ctx.restore();
}

/** A dashed line at every control request and every failure. */
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

/** A click that ends a drag has zoomed: it opens nothing. */
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

/** Canvas colours do not follow the style sheet, so a change of the scheme draws the plot again. */
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

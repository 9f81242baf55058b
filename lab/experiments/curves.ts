// The picture of the README: problems solved on the validation split by a run, and by one without a discriminator.
//   node dist/lab/experiments/curves.js STORE RUN CONTROL > docs/images/curves.svg
import { pathToFileURL } from 'node:url';
import { recordsOf } from '../../core/schema/metrics.js';
import { bandsOf, type RunRecords, readRunRecords, stepsOf } from '../../dashboard/data/records.js';
import { openStore } from '../../store/openStore.js';
import { type Colour, colourStyle, FONT, fill, stroke } from '../svg.js';

type Point = [step: number, rate: number];
type Records = Pick<RunRecords, 'config' | 'metrics' | 'result'>;

const [WIDTH, HEIGHT] = [960, 420];
const [LEFT, TOP, RIGHT, BOTTOM] = [62, 88, 936, 372]; // of the axes

/**
 * The control has updates of the generator only. What it measured after its nth one is drawn at the nth one of the run, so
 * that the curves compare generators with equally many updates.
 */
export function curvesOf(run: Records, control: Records): string {
  const updates = generatorSteps(run);
  const ofControl = generatorSteps(control);
  const lines: { name: string; colour: Colour; points: Point[] }[] = [
    { name: 'sampled', colour: 'sampled', points: validationOf(run) },
    {
      name: 'without a discriminator, sampled',
      colour: 'control',
      points: validationOf(control).flatMap(([step, rate]): Point[] => {
        const at = [0, ...updates][ofControl.filter((each) => each <= step).length];
        return at === undefined ? [] : [[at, rate]];
      }),
    },
  ];
  const bands = bandsOf(run);
  const stages = [...new Set(bands.map(({ stage }) => stage))].map((stage) => {
    const own = bands.filter((band) => band.stage === stage);
    return { stage, start: own[0]!.start, end: own.at(-1)!.end };
  });
  const end = stages.at(-1)?.end ?? 1;
  const least = Math.min(...lines.flatMap(({ points }) => points.map(([, rate]) => rate)));
  const low = Math.floor(10 * least - 0.5) / 10;
  const x = (step: number): number => LEFT + ((RIGHT - LEFT) * step) / end;
  const y = (rate: number): number => BOTTOM - ((BOTTOM - TOP) * (rate - low)) / (1 - low);
  const text = (left: number, top: number, words: string, more = ''): string =>
    `<text x="${left.toFixed(1)}" y="${top.toFixed(1)}" ${fill('muted')} ${more}>${words}</text>`;
  const title = 'Problems solved on the validation split';
  const ticks = Array.from({ length: Math.round(10 * (1 - low)) + 1 }, (_, i) => low + i / 10);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${WIDTH} ${HEIGHT}" ${FONT}>`,
    `<title>${title}</title><desc>Over policy updates. ${lines.map(described).join('; ')}.</desc>${colourStyle()}`,
    `<text x="8" y="24" font-size="17" font-weight="600" ${fill('ink')}>${title}</text>`,
    ...lines.flatMap(({ name, colour }, i) => [
      `<path d="M${12 + 130 * i} 46h26" ${stroke(colour, 2)} ${dashOf(colour)}/>`,
      `<text x="${46 + 130 * i}" y="50" ${fill('ink')}>${name}</text>`,
    ]),
    ...stages.flatMap(({ stage, start, end }, i) => [
      ...(i % 2 === 0
        ? [`<rect x="${x(start)}" y="${TOP}" width="${x(end) - x(start)}" height="${BOTTOM - TOP}" ${fill('band')}/>`]
        : []),
      text((x(start) + x(end)) / 2, TOP - 8, stage === 0 ? 'warm start' : `stage ${stage}`, 'text-anchor="middle"'),
    ]),
    ...ticks.flatMap((rate) => [
      `<path d="M${LEFT} ${y(rate).toFixed(1)}H${RIGHT}" ${stroke('grid', 1)}/>`,
      text(LEFT - 8, y(rate) + 4, `${Math.round(100 * rate)} %`, 'text-anchor="end"'),
    ]),
    ...stages.map(({ end }) => text(x(end), BOTTOM + 18, String(end), 'text-anchor="middle"')),
    text((LEFT + RIGHT) / 2, BOTTOM + 38, 'policy updates', 'text-anchor="middle"'),
    ...lines.flatMap(({ colour, points }) => [
      `<polyline points="${points.map(([step, rate]) => `${x(step).toFixed(1)},${y(rate).toFixed(1)}`).join(' ')}" fill="none" ${stroke(colour, 2)} ${dashOf(colour)}/>`,
      ...points.map(
        ([step, rate]) => `<circle cx="${x(step).toFixed(1)}" cy="${y(rate).toFixed(1)}" r="2.5" ${fill(colour)}/>`,
      ),
    ]),
    '</svg>\n',
  ].join('\n');
}

const generatorSteps = (records: Records): number[] =>
  stepsOf(records)
    .filter(({ role }) => role === 'generator')
    .map(({ step }) => step);

const validationOf = ({ metrics }: Records): Point[] =>
  recordsOf(metrics, 'evaluation')
    .filter(({ split, rates }) => split === 'validation' && rates.passRate !== undefined)
    .map(({ step, rates }) => [step, rates.passRate!]);

const dashOf = (colour: Colour): string => (colour === 'control' ? 'stroke-dasharray="6 4"' : '');

function described({ name, points }: { name: string; points: readonly Point[] }): string {
  const [first, last] = [points[0]!, points.at(-1)!];
  return `${name}: from ${first[1].toFixed(3)} at update ${first[0]} to ${last[1].toFixed(3)} at update ${last[0]}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [place, run, control] = process.argv.slice(2);
  if (run === undefined || control === undefined)
    throw new Error('usage: node dist/lab/experiments/curves.js STORE RUN CONTROL');
  const store = await openStore(place);
  process.stdout.write(curvesOf(await readRunRecords(store, run), await readRunRecords(store, control)));
}

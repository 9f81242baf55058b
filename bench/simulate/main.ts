// npm run simulate -- --workers 1,8,64,512 --model 7B
// Predicts step time, cost, idle share and growth of the history for a number of gpu workers. bench/BENCHMARKS.md (Capacity)
// explains the formula, and what it leaves out.
import { pathToFileURL } from 'node:url';
import { GauntletError } from '../../core/errors.js';
import { resolveConfig } from '../../core/presets.js';
import type { RunConfig } from '../../core/schema/config.js';
import { BenchError, FLAG, positive, readFlags, TEXT } from '../options.js';
import { table } from '../results.js';
import { type Comparison, compare, lengthsOf, type MeasuredRun, readRunFigures } from './against.js';
import { MODELS, type Parts, recordedParts, sizeOf, withMeasured } from './parts.js';
import { type Lengths, type Prediction, predict, type Setting } from './simulate.js';

export const USAGE = `npm run simulate -- [options]
  --workers LIST    numbers of gpu workers (default 1,8,64,512; with --against as many as the run has shards)
  --model NAME      ${Object.keys(MODELS).join(', ')} (default 7B)
  --preset NAME     batches and schedule (default qwen-1.5b; tiny for the model tiny)
  --bits N          of a weight: 32, 8 or 4 (default 32)
  --fill SHARE      mean length of an answer, as a share of the longest (default 0.5; not for tiny prompts)
  --price AMOUNT    of a gpu worker per hour (default 1)
  --measured FILE   parts that you have measured, as JSON: {"trainOperations": {"value": 1e14, "source": "…"}, …}
  --against RUN     compares with the records of a run, whose configuration it takes
  --store STORE     of that run (default .gauntlet)
  --json            print JSON`;

interface Simulation {
  model: string;
  parts: Parts;
  lengths: Lengths;
  predictions: Prediction[];
  against?: Comparison;
}

export async function simulate(args: string[]): Promise<string> {
  const flags = { workers: TEXT, model: TEXT, preset: TEXT, bits: TEXT, fill: TEXT, price: TEXT, measured: TEXT };
  const values = readFlags(args, { ...flags, against: TEXT, store: TEXT, json: FLAG, help: FLAG });
  if (values.help) return USAGE;
  const model = values.model ?? '7B';
  const run =
    values.against === undefined ? undefined : await readRunFigures(values.store ?? '.gauntlet', values.against);
  const preset = values.preset ?? (model === 'tiny' ? 'tiny' : 'qwen-1.5b');
  const config = run?.config ?? resolveConfig({ preset });
  const recorded = recordedParts(model);
  const parts = values.measured ? withMeasured(recorded, values.measured) : recorded;
  const usual = usualLengths(config, positive('fill', values.fill ?? '0.5', { whole: false, max: 1 }));
  const lengths = run ? lengthsOf(run, usual) : usual;
  const setting: Omit<Setting, 'workers'> = {
    config,
    parts,
    lengths,
    size: sizeOf(MODELS[model]!, config.lora.rank),
    bytesPerWeight: positive('bits', values.bits ?? '32', { max: 32 }) / 8,
    pricePerHour: positive('price', values.price ?? '1', { whole: false }),
  };
  const counts = (values.workers ?? (run ? `${run.config.engine.shards}` : '1,8,64,512'))
    .split(',')
    .map((text) => positive('workers', text, { max: 100_000 }));
  const result: Simulation = {
    model,
    parts,
    lengths,
    predictions: counts.map((workers) => predict({ ...setting, workers })),
    ...(run && { against: compare(run, setting) }),
  };
  return values.json ? JSON.stringify(result) : described(result);
}

/** A mean step of a run on so many workers. */
export function predictRun(run: MeasuredRun, model: string, workers: number): Prediction {
  const { config } = run;
  return predict({
    config,
    parts: recordedParts(model),
    lengths: lengthsOf(run, usualLengths(config, 0.5)),
    size: sizeOf(MODELS[model]!, config.lora.rank),
    workers,
    shards: config.engine.shards,
    bytesPerWeight: 4,
    pricePerHour: 1,
  });
}

/** Of a run of the tiny preset, stage 5 (docs/notebook.md, 2026-11-24). */
const TINY = { trained: 0.82, opening: 30, continuation: 3, answer: 25, testPrompt: 70, test: 68 };
/** Of other presets; assumed. */
const PROMPTS = { trained: 1, opening: 120, continuation: 40, testPrompt: 160 };

const usualLengths = ({ sampling, prompts }: RunConfig, fill: number): Lengths =>
  prompts === 'tiny' ? TINY : { ...PROMPTS, answer: fill * sampling.maxNewTokens, test: fill * sampling.maxTestTokens };

function described({ model, parts, predictions, against }: Simulation): string {
  const names = [...new Set(predictions.flatMap(({ phases }) => phases.map(({ name }) => name)))];
  const rows = predictions.map((one) => [
    `${one.workers}`,
    time(one.seconds),
    `${one.speedup.toFixed(1)}×`,
    `${(100 * one.idle).toFixed(0)} %`,
    one.hours.toFixed(1),
    one.cost.toFixed(2),
    `${Math.round(one.events)}${one.exceedsHistory ? ' (too many)' : ''}`,
    `${(one.historyBytes / 1e6).toFixed(2)} MB`,
  ]);
  const head = [
    'gpu workers',
    'step',
    'speed-up',
    'idle',
    'hours of the run',
    'cost',
    'events a step',
    'history a step',
  ];
  const shares = predictions.map(({ workers, phases }) => [
    `${workers}`,
    ...names.map((name) => time(phases.find((phase) => phase.name === name)?.seconds ?? 0)),
  ]);
  const sources = Object.entries(parts).map(([name, { value, source }]) => [name, value.toPrecision(3), source]);
  return [
    `Model ${model}, a mean step:`,
    table(head, rows),
    table(['gpu workers', ...names], shares),
    table(['part', 'value', 'source'], sources),
    ...(against ? [comparison(against)] : []),
  ].join('\n\n');
}

const comparison = ({ steps, predicted, measured, ratio }: Comparison): string =>
  `Seconds of activities in a mean step: ${time(predicted)} predicted, ${time(measured)} measured in ${steps} steps ` +
  `(ratio ${ratio.toFixed(2)}).`;

const time = (seconds: number): string => `${seconds.toPrecision(3)} s`;

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    console.log(await simulate(process.argv.slice(2)));
  } catch (error) {
    if (!(error instanceof BenchError || error instanceof GauntletError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

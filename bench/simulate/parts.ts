// The measured parts of a prediction: what one gpu worker computes per second, and what orchestration costs. Each part says
// where it comes from. What was not measured for a model is scaled from another one by operations and bytes.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { GauntletError } from '../../core/errors.js';
import { ROOT } from '../../infra/root.mjs';
import { isLarge } from '../../ml/engine/base.js';
import { parseModelConfig } from '../../ml/hf/config.js';
import { PROJECTIONS } from '../../ml/nn/config.js';
import { elements, layoutSize, loraLayout, projectionShape } from '../../ml/nn/layout.js';
import { fitsOneRun } from '../../ml/train/activations.js';
import type { CaseResult } from '../results.js';
import { PUBLISHED, RANK, SHAPES, type Shape, shapeConfig } from '../shapes.js';

const partSchema = z.strictObject({ value: z.number().positive(), source: z.string() });
export type Part = z.infer<typeof partSchema>;

/** One worker of each role. Rates are per second. */
export const partsSchema = z.strictObject({
  trainOperations: partSchema, // forward and backward
  scoreOperations: partSchema,
  readOperations: partSchema, // of prompts
  writeOperations: partSchema, // of sampled tokens, beside the time that the weights take
  weightBytes: partSchema, // read from memory while sampling; every token of a batch reads all weights once
  activitySeconds: partSchema, // between two activities in a row: the server, the worker, small artifacts
  eventsPerActivity: partSchema,
  bytesPerEvent: partSchema,
  programs: partSchema, // that a sandbox worker executes
  storeBytes: partSchema, // to or from the store
});
export type Parts = z.infer<typeof partsSchema>;

const QWEN_7B: Shape = { hidden: 3584, layers: 28, heads: 28, kvHeads: 4, ffn: 18944, vocab: 152064, context: 32768 };
export const MODELS: Record<string, Shape> = {
  tiny: SHAPES.embedded, // the shipped model, not the benchmark's shape of that name
  '135M': SHAPES.smollm2,
  ...PUBLISHED,
  '7B': QWEN_7B,
};

export interface ModelSize {
  layers: number; // parameters of all layers
  head: number; // of the output projection
  adapter: number; // of a LoRA adapter on all projections
  /** Rows of a length whose gradients are computed together, and stored as one part. */
  rowsOfPart: (length: number) => number;
}

export function sizeOf(shape: Shape, rank = RANK): ModelSize {
  const config = parseModelConfig(shapeConfig(shape), 'shape');
  const ofLayer = PROJECTIONS.reduce((sum, projection) => sum + elements(projectionShape(config, projection)), 0);
  const [layers, head] = [shape.layers * ofLayer, shape.vocab * shape.hidden];
  const fits = (sequences: number, length: number): boolean =>
    !isLarge({ parameters: layers + head }) || fitsOneRun(config, { sequences, length }, rank);
  return {
    layers,
    head,
    adapter: layoutSize(loraLayout(config, rank)),
    rowsOfPart: (length) => [8, 4, 2].find((rows) => fits(rows, Math.ceil(length))) ?? 1,
  };
}

// A multiplication and an addition per parameter and token. The backward pass of a LoRA adapter needs the gradients of the
// activations only, which is as much again. Attention is left out: below 2,000 tokens it is a few percent.
export const readOperations = ({ layers }: ModelSize): number => 2 * layers;
export const forwardOperations = ({ layers, head }: ModelSize): number => 2 * (layers + head);
export const trainOperations = (size: ModelSize): number => 2 * forwardOperations(size);
export const weightBytes = ({ layers, head }: ModelSize, bytesPerWeight: number): number =>
  bytesPerWeight * (layers + head);

const SCALED_FROM = '0.5b-6l'; // the largest shape of which every part was measured

interface Recorded {
  cases: Pick<CaseResult, 'id' | 'shape' | 'work' | 'figures'>[];
  sandbox: { figures: { contender: string; inFlight: number; perSecond: number }[] };
  orchestration: {
    runs: { seconds: Record<string, number>; overhead: number; wallSeconds: number; activities: number }[];
  };
}

/** The parts of bench/results.json for a model. @throws GauntletError BAD_CONFIG if it has no such model */
export function recordedParts(model: string, recorded: Recorded = readResults()): Parts {
  const shape = MODELS[model];
  if (!shape) throw new GauntletError('BAD_CONFIG', `--model ${model}: known are ${Object.keys(MODELS).join(', ')}`);
  const [run] = recorded.orchestration.runs;
  const { store = 0 } = run!.seconds;
  const docker = recorded.sandbox.figures.find(({ contender, inFlight }) => contender === 'docker' && inFlight === 2)!;
  return {
    ...engineParts(shape, recorded),
    activitySeconds: {
      value: (run!.overhead * run!.wallSeconds + store) / run!.activities,
      source: 'measured: bench/results.json, orchestration (overhead and store, of a folder, per activity)',
    },
    eventsPerActivity: { value: 6.7, source: 'measured: the longest three histories of test/workflows/histories' },
    bytesPerEvent: { value: 353, source: 'measured: the longest three histories of test/workflows/histories' },
    programs: { value: docker.perSecond, source: 'measured: bench/results.json, sandbox, docker, 2 in flight' },
    storeBytes: { value: 50e6, source: 'assumed' },
  };
}

type EngineParts = Pick<
  Parts,
  'trainOperations' | 'scoreOperations' | 'readOperations' | 'writeOperations' | 'weightBytes'
>;

function engineParts(shape: Shape, { cases }: Recorded): EngineParts {
  const own = Object.entries(SHAPES).find(([, each]) => each === shape)?.[0];
  const find = (kind: string, only: (work: Record<string, number>) => boolean = () => true) => {
    for (const name of [own, SCALED_FROM]) {
      const found = cases.filter(
        ({ id, ...each }) =>
          each.shape === name &&
          each.work.kind === kind &&
          /^(train|score|decode|prefill) /.test(id) &&
          only(each.work as unknown as Record<string, number>),
      );
      if (found.length === 0) continue;
      const source = `${name === own ? 'measured' : `scaled from ${name}`}: bench/results.json`;
      const works = found.map(({ id, work, figures }) => ({
        ...(work as unknown as Record<'rows' | 'length' | 'prompt' | 'newTokens', number>),
        id,
        seconds: figures.ours!.median,
        size: sizeOf(SHAPES[name as keyof typeof SHAPES]),
      }));
      return { source, works: works.sort((a, b) => a.rows - b.rows) };
    }
    throw new GauntletError('BAD_CONFIG', `bench/results.json has no case ${kind} of ${SCALED_FROM}`);
  };
  const rate = (found: ReturnType<typeof find>, operations: (size: ModelSize) => number): Part => {
    const { rows, length, prompt, seconds, size, id } = found.works.at(-1)!;
    return { value: (rows * (length ?? prompt) * operations(size)) / seconds, source: `${found.source}, ${id}` };
  };
  const writes = find('decode', ({ newTokens, samples }) => newTokens! > 1 && samples === undefined);
  return {
    trainOperations: rate(find('train'), trainOperations),
    scoreOperations: rate(find('score'), forwardOperations),
    readOperations: rate(
      find('decode', ({ newTokens }) => newTokens === 1),
      readOperations,
    ),
    ...writingParts(writes.works, writes.source),
  };
}

/**
 * The seconds of a token of a batch are weights / bandwidth + rows * operations / rate. Two batches give both; a model that
 * stays in the caches of a processor has one batch, and no bandwidth that matters.
 */
function writingParts(
  works: { rows: number; newTokens: number; seconds: number; size: ModelSize; id: string }[],
  source: string,
): Pick<Parts, 'writeOperations' | 'weightBytes'> {
  const [few, many] = [works[0]!, works.at(-1)!];
  const perToken = (work: typeof few): number => work.seconds / work.newTokens;
  const operations = forwardOperations(many.size);
  if (few === many) {
    const value = (many.rows * operations) / perToken(many);
    const part = { value, source: `${source}, ${many.id}` };
    return { writeOperations: part, weightBytes: { value: 1e15, source: 'none: the weights stay in caches' } };
  }
  const perRow = (perToken(many) - perToken(few)) / (many.rows - few.rows);
  const fixed = perToken(few) - few.rows * perRow;
  const named = `${source}, ${few.id} and ${many.rows}`;
  return {
    writeOperations: { value: operations / perRow, source: named },
    weightBytes: { value: weightBytes(many.size, 4) / fixed, source: named },
  };
}

const readResults = (): Recorded => JSON.parse(readFileSync(join(ROOT, 'bench', 'results.json'), 'utf8')) as Recorded;

/** Parts that a user has measured replace recorded ones. @throws GauntletError BAD_CONFIG naming the part */
export function withMeasured(parts: Parts, file: string): Parts {
  try {
    return { ...parts, ...partsSchema.partial().parse(JSON.parse(readFileSync(file, 'utf8'))) } as Parts;
  } catch (error) {
    const why = error instanceof z.ZodError ? `${error.issues[0]!.path.join('.')}: ${error.issues[0]!.message}` : error;
    throw new GauntletError('BAD_CONFIG', `--measured ${file}: ${why}`);
  }
}

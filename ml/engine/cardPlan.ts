// Computes how much memory of a card a run needs, from the shapes of its model: nothing is loaded. `npm run check:cuda` compares
// the result with what a CUDA runtime counts. All numbers are bytes.
import { GauntletError } from '../../core/base/errors.js';
import { DECODER_ROWS, deviceDecoderBytes } from '../decode/deviceDecoder.js';
import { LESS_MEMORY } from '../device/faults.js';
import type { ModelConfig } from '../hf/config.js';
import { packedLayout, type Quantization } from '../hf/packed.js';
import { HALF, toHalf } from '../ir/half.js';
import { peakBytes } from '../ir/liveBytes.js';
import { buildPpoGraph } from '../loss/trainingGraph.js';
import { QUERY_BLOCK } from '../nn/attention.js';
import { attentionFor } from '../nn/cacheAttention.js';
import { FusedWeights } from '../nn/fusedWeights.js';
import { layoutSize, loraLayout, parameterLayout } from '../nn/layout.js';
import type { PackedTensor, StoredTensor, WeightLocations } from '../nn/separateWeights.js';
import { buildSamplingStep } from '../nn/stepGraph.js';
import { isLora } from '../nn/tensorNames.js';
import { fitsOneRun, shouldRecompute } from '../train/activations.js';
import { ppoGraphLoss } from '../train/batch.js';
import type { EngineOptions } from './engine.js';

/** The longest rows that the plan is for. */
export const PLANNED_TOKENS = 2048;
const TOGETHER = [8, 4, 2, 1]; // how many sequences a part may have
const LENGTH_STEP = 32;
/** CUDA's context, its kernels and the work space of cuBLAS. It is an assumption, because a runtime without a GPU has none. */
export const CONTEXT = 0.7e9;
/** An arena has gaps into which no tensor fits. */
const GAPS = { share: 0.05, bytes: 2 ** 28 };
const REGIONS = { first: 2 ** 28, largest: 2 ** 30 }; // an arena grows by regions; each is twice as large as the one before
const STEP_SLACK = 1.2; // the arena of a recorded graph takes what it needs, and little more
const ADAPTERS = 4; // copies of the adapter: training has one, the decoder has others, also in f32 while it writes them

export interface CardUse
  extends Pick<EngineOptions, 'precision' | 'quantization' | 'checkpointing' | 'activationBytes' | 'decoderRows'> {
  rank: number; // the rank of the adapter
}

export interface CardPlan {
  weights: number; // the weights of the base, which decoding and training share
  copy: number; // weights with the adapter merged in, for decoding
  caches: number; // keys and values
  sampling: number; // a step of decoding
  training: number; // the gradient of a part: activations, logits, the output projection in f32
  other: number; // the adapter, and CUDA itself
  total: number;
}

export function planCard(c: ModelConfig, use: CardUse): CardPlan {
  const { precision = 'f32', quantization, rank, decoderRows = DECODER_ROWS } = use;
  const adapter = ADAPTERS * 4 * layoutSize(loraLayout(c, rank));
  const plan = { ...NOTHING, training: trainingBytes(c, use), other: CONTEXT + adapter };
  if (quantization)
    plan.weights = packedLayout(c, quantization).bytes + 2 * c.vocab * c.hidden; // the embedding stays in 16 bits
  else {
    const type = HALF[precision] ?? 'float32';
    const positions = Math.min(PLANNED_TOKENS, c.contextLength);
    const { base, merged, caches } = deviceDecoderBytes(c, positions, type, decoderRows);
    const step = buildSamplingStep(c, (g) => new FusedWeights(g, c, { type, rank: merged > 0 ? 0 : rank }), {
      ...{ rows: decoderRows, positions, steps: 1, sampling: {}, type },
      attention: attentionFor(c, 'cuda', type),
    });
    Object.assign(plan, { weights: base, copy: merged, caches, sampling: STEP_SLACK * peakBytes(step, () => true) });
  }
  plan.total = Object.values(plan).reduce((sum, bytes) => sum + bytes, 0);
  return plan;
}

const NOTHING: CardPlan = { weights: 0, copy: 0, caches: 0, sampling: 0, training: 0, other: 0, total: 0 };

/** The largest gradient that a part may take. */
function trainingBytes(c: ModelConfig, use: CardUse): number {
  const { activationBytes, rank } = use;
  const fits = (sequences: number, length: number): boolean =>
    fitsOneRun(c, { sequences, length }, rank, activationBytes);
  const peaks = TOGETHER.map((sequences) => {
    let length = Math.min(PLANNED_TOKENS, c.contextLength);
    if (sequences > 1) while (length > 0 && !fits(sequences, length)) length -= LENGTH_STEP;
    return length > 0 ? gradientBytes(c, use, sequences, length) : 0;
  });
  return arena(Math.max(...peaks));
}

/** The most bytes that are alive at once while the gradient of a part is computed. */
export function gradientBytes(c: ModelConfig, use: CardUse, sequences: number, length: number): number {
  const { precision = 'f32', quantization, rank, activationBytes } = use;
  const half = HALF[precision];
  const shape = { sequences, length, branched: true, queryBlock: QUERY_BLOCK.device };
  const checkpointing = use.checkpointing ?? shouldRecompute(c, shape, rank, activationBytes);
  const loss = ppoGraphLoss({ clip: 0.2, temperature: 1 });
  const locations = quantization && weightsInFiles(c, quantization);
  const options = { locations, checkpointing, lossScaled: half !== undefined };
  const graph = buildPpoGraph(c, shape, { rank, alpha: rank }, loss, options);
  const parameters = new Set(parameterLayout(c).map(({ name }) => name));
  const isHeld = ({ name }: { name: string }): boolean => parameters.has(name) || isLora(name);
  if (half) toHalf(graph, half, new Set(graph.inputs.filter(isHeld).map(({ name }) => name)), c.vocab);
  return peakBytes(graph, isHeld);
}

/** Locations of parameters in a file that does not exist: only their sizes count. */
function weightsInFiles(c: ModelConfig, quantization: Quantization): WeightLocations {
  const nowhere = { location: '', offset: 0 };
  const places = { values: nowhere, scales: nowhere, zeros: nowhere };
  const locations = new Map<string, StoredTensor | PackedTensor>();
  for (const { name } of parameterLayout(c)) locations.set(name, { ...nowhere, dtype: 'bfloat16' });
  for (const { name, bits, groupSize } of packedLayout(c, quantization).matrices)
    locations.set(name, { bits, groupSize, ...places });
  return locations;
}

/** The bytes that an arena takes if `bytes` are alive at once. */
export function arena(bytes: number): number {
  const needed = bytes * (1 + GAPS.share) + GAPS.bytes;
  let total = 0;
  for (let region = REGIONS.first; total < needed; region = Math.min(REGIONS.largest, 2 * region)) total += region;
  return total;
}

const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

/** For example: needs 16.4 GiB: weights 2.9, keys and values 3.6, training 8.8, other 1.2 */
export function describePlan({ total, weights, copy, caches, training, sampling, other }: CardPlan): string {
  const parts = { weights: weights + copy, 'keys and values': caches, training, other: sampling + other };
  const shown = Object.entries(parts).filter(([, bytes]) => bytes > 0);
  return `needs ${gib(total)}: ${shown.map(([name, bytes]) => `${name} ${(bytes / 2 ** 30).toFixed(1)}`).join(', ')}`;
}

/** @throws {GauntletError} OUT_OF_MEMORY if a card has not enough memory, with the way out */
export function checkCard(model: string, plan: CardPlan, available: number): void {
  if (plan.total <= available) return;
  const what = `${model}: ${describePlan(plan)}; the GPU has ${gib(available)}: ${LESS_MEMORY}`;
  throw new GauntletError('OUT_OF_MEMORY', what);
}

/** What several models need at the same time. They share CUDA's context, and compute one after the other. */
export function sumOf(plans: readonly CardPlan[]): CardPlan {
  const sum = { ...NOTHING };
  for (const name of Object.keys(sum) as (keyof CardPlan)[])
    for (const plan of plans)
      sum[name] = name === 'training' ? Math.max(sum[name], plan[name]) : sum[name] + plan[name];
  const { total: _, ...parts } = { ...sum, other: sum.other - CONTEXT * (plans.length - 1) };
  return { ...parts, total: Object.values(parts).reduce((a, b) => a + b, 0) };
}

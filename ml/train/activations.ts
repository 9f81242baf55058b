// The size of the activations that a backward pass reads: how many rows are trained together, and whether activations are
// recomputed instead of kept.
import { type DecoderConfig, PROJECTIONS } from '../nn/config.js';
import type { BatchShape } from '../nn/decoder.js';
import { layoutSize, parameterLayout, projectionShape } from '../nn/layout.js';
import { paddedLength } from './batch.js';

const F32 = 4;
const MIN_KEPT_BYTES = 512e6; // up to this size, memory is cheaper than a third more time
const TOTAL_BYTES = 2e9; // of activations and f32 weights, if the model leaves more than the minimum

/** The bytes of activations to keep. They depend on the model only, because shards, and so sums, depend on them. */
const keptBytes = (c: DecoderConfig): number =>
  Math.max(MIN_KEPT_BYTES, TOTAL_BYTES - F32 * layoutSize(parameterLayout(c)));

/** The bytes of one layer, for an adapter of this rank. */
export function layerActivations(c: DecoderConfig, { sequences, length }: BatchShape, rank: number): number {
  const widths = PROJECTIONS.reduce((sum, p) => sum + 2 * projectionShape(c, p)[0] + rank, 0);
  const attention = c.heads * length; // probabilities over the past, and their gradient
  return F32 * sequences * length * (widths + 4 * c.hidden + 2 * c.ffn + attention);
}

/** The default for gradient checkpointing. It changes no result. */
export const shouldRecompute = (c: DecoderConfig, batch: BatchShape, rank: number): boolean =>
  c.layers * layerActivations(c, batch, rank) > keptBytes(c);

/** Whether to train rows of this length together: if they need neither recomputation nor rows of padding. */
export const fitsOneRun = (c: DecoderConfig, { sequences, length }: BatchShape, rank: number): boolean =>
  Number.isInteger(Math.log2(sequences)) && !shouldRecompute(c, { sequences, length: paddedLength(length) }, rank);

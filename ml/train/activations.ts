// Computes the size of the activations that a backward pass reads. It decides how many rows are trained together, and whether
// activations are recomputed instead of kept.
import { type DecoderConfig, PROJECTIONS } from '../nn/config.js';
import type { BatchShape } from '../nn/decoder.js';
import { layoutSize, parameterLayout, projectionShape } from '../nn/layout.js';
import { paddedLength } from './batch.js';

const F32 = 4;
const MIN_KEPT_BYTES = 512e6; // up to this size, memory is cheaper than a third more time
/** The bytes of activations and f32 weights on a CPU, if the weights leave more than the minimum. */
const TOTAL_BYTES = { together: 2e9, kept: 3e9 };

/** The bytes that activations may take on a CPU. They decide the parts of a minibatch, and so sums: they depend on the model only. */
const limit = (c: DecoderConfig, total: number): number =>
  Math.max(MIN_KEPT_BYTES, total - F32 * layoutSize(parameterLayout(c)));

/** The bytes of activations in one layer with an adapter of this rank. */
export function layerActivations(c: DecoderConfig, { sequences, length }: BatchShape, rank: number): number {
  const widths = PROJECTIONS.reduce((sum, p) => sum + 2 * projectionShape(c, p)[0] + rank, 0);
  const attention = c.heads * length; // probabilities over the past, and their gradient
  return F32 * sequences * length * (widths + 4 * c.hidden + 2 * c.ffn + attention);
}

const activations = (c: DecoderConfig, batch: BatchShape, rank: number): number =>
  c.layers * layerActivations(c, batch, rank);

/** The bytes of activations that a CPU keeps for the backward pass. */
export const keptOnCpu = (c: DecoderConfig): number => limit(c, TOTAL_BYTES.kept);

/** The default for gradient checkpointing. It changes no result of a large model. @param kept bytes that may be kept */
export const shouldRecompute = (c: DecoderConfig, batch: BatchShape, rank: number, kept = keptOnCpu(c)): boolean =>
  activations(c, batch, rank) > kept;

/**
 * Whether rows of this length are trained together: their activations must be small, and no row may be padding.
 * @param bytes the limit, see EngineOptions.activationBytes
 */
export const fitsOneRun = (
  c: DecoderConfig,
  { sequences, length }: BatchShape,
  rank: number,
  bytes = limit(c, TOTAL_BYTES.together),
): boolean =>
  Number.isInteger(Math.log2(sequences)) && activations(c, { sequences, length: paddedLength(length) }, rank) <= bytes;

// The size of the activations that a backward pass reads, and whether they are recomputed instead of kept.
import { type DecoderConfig, PROJECTIONS } from '../nn/config.js';
import type { BatchShape } from '../nn/decoder.js';
import { projectionShape } from '../nn/layout.js';

const F32 = 4;
const KEPT_BYTES = 512e6; // up to this size, memory is cheaper than a third more time

/** The bytes of one layer, for an adapter of this rank. */
export function layerActivations(c: DecoderConfig, { sequences, length }: BatchShape, rank: number): number {
  const widths = PROJECTIONS.reduce((sum, p) => sum + 2 * projectionShape(c, p)[0] + rank, 0);
  const attention = c.heads * length; // probabilities over the past, and their gradient
  return F32 * sequences * length * (widths + 4 * c.hidden + 2 * c.ffn + attention);
}

/** The default for gradient checkpointing. It changes no result. */
export const shouldRecompute = (c: DecoderConfig, batch: BatchShape, rank: number): boolean =>
  c.layers * layerActivations(c, batch, rank) > KEPT_BYTES;

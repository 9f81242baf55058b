// What a backward pass reads of the forward pass, in bytes, and when that is recomputed instead of kept.
import { type DecoderConfig, PROJECTIONS } from '../nn/config.js';
import { projectionShape } from '../nn/lora.js';

const F32 = 4;
const KEPT_BYTES = 512e6; // up to here memory is cheaper than the third of the time that recomputing costs

/** Of one layer, for `rows` sequences of `length` tokens under an adapter of this rank. */
export function layerActivations(c: DecoderConfig, rows: number, length: number, rank: number): number {
  const widths = PROJECTIONS.reduce((sum, p) => sum + 2 * projectionShape(c, p)[0] + rank, 0);
  const attention = c.heads * length; // probabilities of the past, and their gradient
  return F32 * rows * length * (widths + 4 * c.hidden + 2 * c.ffn + attention);
}

/** Whether layers are recomputed where nobody says. No result shows it. */
export const recomputes = (c: DecoderConfig, rows: number, length: number, rank: number): boolean =>
  c.layers * layerActivations(c, rows, length, rank) > KEPT_BYTES;

// Makes the inputs of prompt and step graphs as arrays.
import type { InlineData } from '../ir/op.js';
import { type CacheAttention, cacheNames } from '../nn/cacheAttention.js';
import type { DecoderConfig } from '../nn/config.js';
import { ropeOutsideAttention } from '../nn/decodeGraph.js';
import { STOP } from '../nn/stepGraph.js';
import type { DecodeOptions } from './decodeSession.js';
import type { RowStart } from './slots.js';

export type Inputs = Record<string, { data: InlineData; dims: number[] }>;

/**
 * The inputs of buildPromptGraph, without caches and weights.
 * @param starts have at most `length` tokens each @param rows the rows of the run, at least as many as starts
 * @param spare the row of the caches that gets the keys and values of the padding
 */
export function promptInputs(
  c: DecoderConfig,
  attention: CacheAttention,
  starts: readonly RowStart[],
  { length, rows, spare }: { length: number; rows: number; spare: number },
): Inputs {
  const ids = new BigInt64Array(rows * length);
  const last = new Int32Array(rows); // the index of the last token; a row of padding has one token
  const places = new BigInt64Array(rows * c.kvHeads * length * 3);
  let at = 0;
  for (let r = 0; r < rows; r++) {
    const { row = spare, tokens = [] } = starts[r] ?? {};
    last[r] = Math.max(0, tokens.length - 1);
    tokens.forEach((token, t) => {
      ids[r * length + t] = BigInt(token);
    });
    for (let h = 0; h < c.kvHeads; h++)
      for (let t = 0; t < length; t++) {
        places[at++] = BigInt(t < tokens.length ? row : spare);
        places[at++] = BigInt(h);
        places[at++] = BigInt(t);
      }
  }
  const tokenPositions = (): BigInt64Array => ids.map((_, i) => BigInt(i % length));
  return {
    ids: { data: ids, dims: [ids.length] },
    batch: { data: BigInt64Array.of(BigInt(rows), BigInt(length), -1n), dims: [3] },
    places: { data: places, dims: [places.length / 3, 3] },
    ...(attention === 'grouped' && {
      last: { data: last, dims: [rows] },
      longest: { data: Int32Array.of(length), dims: [] },
      ...(ropeOutsideAttention(c) && { tokenPositions: { data: tokenPositions(), dims: [ids.length, 1] } }),
    }),
  };
}

/** The inputs of buildSamplingStep that are the same in all chunks of a call. */
export function callInputs(c: DecoderConfig, { temperature, topP = 1, stopTokens }: DecodeOptions): Inputs {
  const ends = new BigInt64Array(c.vocab);
  for (const token of stopTokens) ends[token] = BigInt(STOP);
  const inputs: Inputs = { ends: { data: ends, dims: [c.vocab] } };
  if (temperature === 0) return inputs;
  inputs.scale = { data: Float32Array.of(1 / temperature), dims: [1] };
  if (topP < 1) inputs.topP = { data: Float64Array.of(topP), dims: [1] };
  return inputs;
}

export const cacheShapes = (c: DecoderConfig, rows: number, positions: number): [name: string, dims: number[]][] =>
  cacheNames(c).map((name) => [name, [rows, c.kvHeads, positions, c.headDim]]);

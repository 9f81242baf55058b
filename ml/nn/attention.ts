// Causal attention over whole sequences, which scoring and training use.
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';

/** Added to the score of a position that must not be seen: its probability is exactly 0. */
export const MASKED = -1e9;

/**
 * Queries that are computed together. Smaller blocks skip more of the future; larger ones make fewer nodes to compile, and
 * fewer kernels to start on a GPU.
 */
export const QUERY_BLOCK = { small: 32, large: 128, device: 1024 };

/**
 * softmax(q·kᵀ/√hd)·v over the past of each query. q [B, H, T, hd], k and v [B, KV, T, hd] → [B, H, T, hd].
 * Queries go in blocks. Each block sees the keys up to its own end, so most of the future is never computed, and the
 * result of a sequence does not depend on the padding of its batch.
 */
export function causalAttention(g: Graph, q: Value, k: Value, v: Value, block: number, maskOf: MaskOf): Value {
  const [sequences, heads, length, headDim] = q.shape as [number, number, number, number];
  const kvHeads = k.shape[1] as number;
  const blocks: Value[] = [];
  for (let start = 0; start < length; start += block) {
    const end = Math.min(length, start + block);
    const size = end - start;
    const part = (x: Value, from: number): Value => (from === 0 && end === length ? x : g.slice(x, 2, from, end));
    // grouped-query attention: the query heads that share a key become rows of one product
    const folded = [sequences, kvHeads, (heads / kvHeads) * size];
    const scores = g.fusedMatMul(g.reshape(part(q, start), [...folded, headDim]), part(k, 0), {
      transB: true,
      alpha: 1 / Math.sqrt(headDim),
    });
    const p = g.softmax(g.add(g.reshape(scores, [sequences, heads, size, end]), maskOf(start, end)));
    const mixed = g.fusedMatMul(g.reshape(p, [...folded, end]), part(v, 0));
    blocks.push(g.reshape(mixed, [sequences, heads, size, headDim]));
  }
  return g.concat(blocks, 2);
}

/** Makes the mask to add to the scores of queries start..end and keys 0..end: [end − start, end], perhaps after [1 or B, 1]. */
type MaskOf = (start: number, end: number) => Value;

/** Cuts the masks of blocks from an input [B, 1, T, T]. */
export const partsOfMask = (g: Graph, mask: Value): MaskOf =>
  sharedByLayers((start, end) => g.slice(g.slice(mask, 2, start, end), 3, 0, end));

/** Cuts the masks of blocks from one constant [block, length]: its size grows with the length, not with the square. */
export function causalMask(g: Graph, length: number, block: number): MaskOf {
  const rows = Math.min(block, length);
  const width = Math.ceil(length / rows) * rows;
  const mask = new Float32Array(rows * width); // row i hides what comes after column width − rows + i
  for (let i = 0; i < rows; i++) mask.fill(MASKED, i * width + width - rows + i + 1, (i + 1) * width);
  const band = g.constant('causal', [rows, width], mask);
  return sharedByLayers((start, end) => {
    const first = width - rows - start;
    const columns = end === width ? band : g.slice(band, 1, first, first + end);
    return end - start === rows ? columns : g.slice(columns, 0, 0, end - start);
  });
}

function sharedByLayers(make: MaskOf): MaskOf {
  const parts = new Map<number, Value>();
  return (start, end) => {
    const part = parts.get(start) ?? make(start, end);
    parts.set(start, part);
    return part;
  };
}

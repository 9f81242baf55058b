// Log-probs of given tokens under the output projection, and their gradient. Rows go through in chunks, so that
// [rows, vocab] is never held whole; the gradient is local to a row and needs no pass over a one-hot matrix.
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';

const CHUNK_ELEMENTS = 1 << 20;
const MIN_CHUNK_ROWS = 256; // smaller products cost more than they save

export interface HeadOptions {
  temperature: number; // divides the logits
  chunkRows?: number;
}

export interface TokenLogprobs {
  /** [rows, 1] */
  logprob: Value;
  /** Given d/dlogprob [rows, 1]: the gradients of hidden, and of the projection where `forHead` asks for it. */
  backward(dLogprob: Value, forHead: boolean): { hidden: Value; head: Value | undefined };
}

/** log softmax(hidden·headᵀ / temperature) at `target`. hidden [rows, d], head [vocab, d], target int64 [rows, 1]. */
export function tokenLogprobs(
  g: Graph,
  hidden: Value,
  head: Value,
  target: Value,
  options: HeadOptions,
): TokenLogprobs {
  const [rows] = hidden.shape as [number, number];
  const vocab = head.shape[0] as number;
  const size = options.chunkRows ?? Math.max(MIN_CHUNK_ROWS, Math.floor(CHUNK_ELEMENTS / vocab));
  const alpha = 1 / options.temperature;
  const part = (x: Value, start: number, end: number): Value =>
    start === 0 && end === rows ? x : g.slice(x, 0, start, end);
  const chunks: { start: number; end: number; h: Value; ids: Value; all: Value; logprob: Value }[] = [];
  for (let start = 0; start < rows; start += size) {
    const end = Math.min(rows, start + size);
    const [h, ids] = [part(hidden, start, end), part(target, start, end)];
    const all = g.logSoftmax(g.gemm(h, head, { transB: true, alpha }));
    chunks.push({ start, end, h, ids, all, logprob: g.gatherElements(all, ids, 1) });
  }
  return {
    logprob: g.concat(
      chunks.map((c) => c.logprob),
      0,
    ),
    // with z = h·Eᵀ/τ and p = softmax(z): dz = d·(onehot − p), so dh = d/τ·(E[id] − p·E) and dE = dzᵀ·h/τ
    backward(dLogprob, forHead) {
      const dHidden: Value[] = [];
      let dHead = forHead ? g.zeros([vocab, head.shape[1] as number]) : undefined;
      for (const { start, end, h, ids, all } of chunks) {
        const d = g.scale(part(dLogprob, start, end), alpha);
        const p = g.exp(all);
        dHidden.push(g.mul(g.sub(g.gatherND(head, ids), g.matMul(p, head)), d));
        if (!dHead) continue;
        const weighted = g.mul(h, d);
        dHead = g.scatterND(g.sub(dHead, g.gemm(p, weighted, { transA: true })), ids, weighted);
      }
      return { hidden: g.concat(dHidden, 0), head: dHead };
    },
  };
}

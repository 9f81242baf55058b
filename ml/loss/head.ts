// Log-probs of given tokens under the output projection, and their gradient, for a chunk of rows. A row is one position of one
// sequence. A loss needs only results per row, so a graph processes its rows in chunks and holds the logits of one chunk at a
// time. The gradient needs no one-hot matrix.
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';

const CHUNK_ELEMENTS = 1 << 20;
const MIN_CHUNK_ROWS = 256; // smaller chunks cost more time than they save memory
const LARGE = { vocab: 1 << 16, chunkRows: 96 }; // fewer rows save 400 MB at a vocabulary of 152k

const MIN_PROJECTED = 64; // the fewest rows that are projected

interface RowRange {
  start: number;
  end: number;
}

const chunkSize = (vocab: number): number =>
  vocab > LARGE.vocab ? LARGE.chunkRows : Math.max(MIN_CHUNK_ROWS, Math.floor(CHUNK_ELEMENTS / vocab));

/**
 * The number of rows to project if only `needed` of `rows` count. Few sizes are in use, so that few graphs serve all
 * numbers: whole chunks, or, if the vocabulary is large and the projection a large part of the work, 2ⁿ and 3·2ⁿ rows.
 */
export function projectedRows(needed: number, rows: number, vocab: number): number {
  const chunk = chunkSize(vocab);
  if (chunk > MIN_CHUNK_ROWS) return Math.min(rows, Math.max(1, Math.ceil(needed / chunk)) * chunk);
  const power = 2 ** Math.ceil(Math.log2(Math.max(MIN_PROJECTED, needed)));
  return Math.min(rows, 0.75 * power >= Math.max(MIN_PROJECTED, needed) ? 0.75 * power : power);
}

/** The chunks in which `rows` go through the projection. They depend on shapes only. */
export function rowChunks(rows: number, vocab: number): RowRange[] {
  const size = chunkSize(vocab);
  return Array.from({ length: Math.ceil(rows / size) }, (_, i) => ({
    start: i * size,
    end: Math.min(rows, (i + 1) * size),
  }));
}

/** A range of a matrix's rows; the matrix itself if the range is all of them. */
export function rowsOf(g: Graph, x: Value, { start, end }: RowRange): Value {
  return start === 0 && end === x.shape[0] ? x : g.slice(x, 0, start, end);
}

/** Each value has one number per row, [rows, 1]. */
export interface TokenScores {
  logprob: Value;
  /** −Σ p·log p over the vocabulary, in nats; only with the option `entropy`. */
  entropy?: Value;
}

export interface ScoredTokens extends TokenScores {
  /** Given d/dlogprob (and d/dentropy): the gradient of hidden, and `head` plus the gradient of the projection. */
  backward(gradient: TokenScores, head?: Value): { hidden: Value; head?: Value };
}

/**
 * log softmax(hidden·headᵀ / temperature) at `target`, and the entropy of that softmax.
 * hidden [rows, d], head [vocab, d], target int64 [rows, 1].
 */
export function scoreTokens(
  g: Graph,
  hidden: Value,
  head: Value,
  target: Value,
  options: { temperature: number; entropy?: boolean },
): ScoredTokens {
  const alpha = 1 / options.temperature;
  const all = g.logSoftmax(g.gemm(hidden, head, { transB: true, alpha }));
  const logprob = g.gatherElements(all, target, 1);
  const entropy = options.entropy ? g.neg(g.reduceSum(g.mul(g.exp(all), all), [1], true)) : undefined;
  return {
    logprob,
    entropy,
    // with z = h·Eᵀ/τ and p = softmax(z): dlogprob/dz = onehot − p, dH/dz = −p·(log p + H); so for gradients d of the
    // log-prob and e of the entropy dz = d·onehot − q with q = p·(d + e·(H + log p)), dh = dz·E/τ and dE = dzᵀ·h/τ
    backward(gradient, dHead) {
      const d = g.scale(gradient.logprob, alpha);
      const p = g.exp(all);
      const own = g.gatherND(head, target);
      if (!entropy || !gradient.entropy) {
        // q = p·d; multiplying the narrow matrices by d gives the same and costs less
        const dHidden = g.mul(g.sub(own, g.matMul(p, head)), d);
        if (!dHead) return { hidden: dHidden };
        const weighted = g.mul(hidden, d);
        const rest = g.sub(dHead, g.gemm(p, weighted, { transA: true }));
        return { hidden: dHidden, head: g.scatterND(rest, target, weighted) };
      }
      const e = g.scale(gradient.entropy, alpha);
      const q = g.mul(p, g.add(g.mul(all, e), g.add(d, g.mul(e, entropy))));
      const dHidden = g.sub(g.mul(own, d), g.matMul(q, head));
      if (!dHead) return { hidden: dHidden };
      const rest = g.sub(dHead, g.gemm(q, hidden, { transA: true }));
      return { hidden: dHidden, head: g.scatterND(rest, target, g.mul(hidden, d)) };
    },
  };
}

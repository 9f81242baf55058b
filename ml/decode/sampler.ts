// Samples one token. Sampling is exact: it inverts the cumulative distribution, in token order, at one uniform number. So
// the same key gives the same token in every run.
import { GauntletError } from '../../core/base/errors.js';
import type { OutputKind } from '../nn/decodeGraph.js';
import type { GraphSampling } from '../nn/samplingGraph.js';

/** Temperature 0 is greedy. */
export interface SamplingOptions {
  temperature: number;
  topK?: number; // keep the k most likely tokens
  topP?: number; // keep the fewest most likely of those tokens whose probabilities reach topP
  repetitionPenalty?: number; // divides the positive logits of tokens in the sequence, multiplies the negative ones
}

export interface Sampled {
  token: number;
  logprob: number; // under the distribution that the token was drawn from
}

const penalizes = ({ repetitionPenalty = 1 }: SamplingOptions): boolean => repetitionPenalty !== 1;
const truncates = ({ topK, topP }: SamplingOptions): boolean => topK !== undefined || (topP !== undefined && topP < 1);

/** The smallest output of the graph that is enough for these options. */
export function outputKindFor(options: SamplingOptions): OutputKind {
  if (penalizes(options)) return 'logits';
  if (options.temperature === 0) return 'greedy';
  return options.topK === undefined ? 'probabilities' : 'logits';
}

/** A graph applies topP to this many most likely tokens if there is no topK. They may not reach topP together. */
const NUCLEUS_TOKENS = 1024;

/** How a graph samples with these options; undefined if it cannot, because of penalties or log-probs. */
export function graphSampling(
  options: SamplingOptions & { logprobs?: boolean },
  vocab: number,
): GraphSampling | undefined {
  if (penalizes(options) || options.logprobs) return undefined;
  if (options.temperature === 0) return { greedy: true };
  if (!truncates(options)) return {};
  const topP = options.topP !== undefined && options.topP < 1;
  return { topK: Math.min(vocab, options.topK ?? NUCLEUS_TOKENS), topP };
}

const BLOCK = 256; // tokens whose probabilities are summed before the token is located
const SHIFT = 18; // a weight is in the bucket of its upper bits, which order floats that are not negative
const BUCKETS = 2 ** (31 - SHIFT);

/** Samples over one vocabulary; reuses its buffers between calls. */
export class Sampler {
  private readonly sums: Float64Array;
  private readonly weights: Float32Array; // probabilities times any constant, or 0 for a truncated token

  constructor(private readonly vocab: number) {
    this.sums = new Float64Array(Math.ceil(vocab / BLOCK));
    this.weights = new Float32Array(vocab);
  }

  /**
   * @param next the output of a graph with `outputKindFor(options)`
   * @param uniform in (0, 1)
   * @param tokens all tokens of the sequence so far
   */
  sample(
    next: Float32Array | BigInt64Array,
    row: number,
    options: SamplingOptions,
    uniform: number,
    tokens: readonly number[] = [],
  ): Sampled {
    if (next instanceof BigInt64Array) return { token: Number(next[row]), logprob: 0 };
    const values = next.subarray(row * this.vocab, (row + 1) * this.vocab);
    const { temperature, topK, topP = 1 } = options;
    const { vocab, weights } = this;
    if (outputKindFor(options) === 'probabilities') {
      if (!truncates(options)) return this.draw(values, uniform);
      weights.set(values);
    } else {
      const logits = penalizes(options) ? penalized(values, tokens, options.repetitionPenalty!) : values;
      const best = argMax(logits);
      if (temperature === 0) return { token: best, logprob: 0 };
      for (let i = 0; i < vocab; i++) weights[i] = Math.exp((logits[i]! - logits[best]!) / temperature);
    }
    if (topK !== undefined) truncate(weights, 0, (count) => count >= topK);
    if (topP < 1) {
      const all = this.sum(weights);
      // all smaller weights together are less than what topP leaves out
      truncate(weights, ((1 - topP) * all) / vocab, (_, sum) => sum >= topP * all);
    }
    return this.draw(weights, uniform);
  }

  /** The sum of weights. `sums` then has those of the blocks. */
  private sum(weights: ArrayLike<number>): number {
    const { sums, vocab } = this;
    let total = 0;
    for (let block = 0; block < sums.length; block++) {
      const end = Math.min(vocab, (block + 1) * BLOCK);
      let sum = 0;
      for (let i = block * BLOCK; i < end; i++) sum += weights[i]!;
      sums[block] = sum;
      total += sum;
    }
    if (Number.isFinite(total)) return total;
    throw new GauntletError('BAD_MODEL', 'the probabilities of the next token are not finite');
  }

  /** The token at which the running sum of weights passes uniform · their sum. */
  private draw(weights: ArrayLike<number>, uniform: number): Sampled {
    const { sums, vocab } = this;
    const total = this.sum(weights);
    const target = uniform * total;
    let before = 0;
    let block = 0;
    while (block + 1 < sums.length && before + sums[block]! <= target) before += sums[block++]!;
    let token = -1;
    for (let i = block * BLOCK; i < vocab && before <= target; i++) {
      if (weights[i] === 0) continue;
      before += weights[i]!;
      token = i;
    }
    // rounding: the last block may miss the target by an ulp and end with truncated tokens
    if (token < 0) for (token = block * BLOCK - 1; weights[token] === 0; ) token--;
    return { token, logprob: Math.log(weights[token]! / total) };
  }
}

/**
 * Keeps the largest weights, until `enough` holds for their number and sum. Ties keep the lower index. Only the weights in
 * the bucket at the border are sorted.
 * @param least smaller weights are not needed
 */
function truncate(weights: Float32Array, least: number, enough: (count: number, sum: number) => boolean): void {
  const bits = new Uint32Array(weights.buffer, weights.byteOffset, weights.length);
  const counts = new Int32Array(BUCKETS);
  const sums = new Float64Array(BUCKETS);
  for (let i = 0; i < weights.length; i++) {
    if (weights[i]! < least) continue;
    counts[bits[i]! >>> SHIFT]!++;
    sums[bits[i]! >>> SHIFT]! += weights[i]!;
  }
  let border = BUCKETS - 1;
  let [count, sum] = [0, 0];
  while (border > 0 && (counts[border] === 0 || !enough(count + counts[border]!, sum + sums[border]!))) {
    count += counts[border]!;
    sum += sums[border--]!;
  }
  const near: number[] = [];
  for (let i = 0; i < weights.length; i++) {
    const bucket = bits[i]! >>> SHIFT;
    if (bucket < border) weights[i] = 0;
    else if (bucket === border) near.push(i);
  }
  near.sort((a, b) => weights[b]! - weights[a]! || a - b);
  for (const i of near) {
    if (count > 0 && enough(count, sum)) weights[i] = 0;
    count++;
    sum += weights[i]!;
  }
}

/** The first index of the largest value. */
function argMax(values: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i;
  return best;
}

/** Applies the repetition penalty of Keskar et al. 2019, as in transformers. */
function penalized(logits: Float32Array, tokens: readonly number[], penalty: number): Float32Array {
  const out = logits.slice();
  for (const token of tokens) {
    const x = logits[token]!;
    out[token] = x > 0 ? x / penalty : x * penalty;
  }
  return out;
}

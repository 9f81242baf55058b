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
  return truncates(options) ? 'logits' : 'probabilities';
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
const BUCKETS = 4096;
const BUCKETS_PER_NAT = 64;

/** Samples over one vocabulary; reuses its buffers between calls. */
export class Sampler {
  private readonly sums: Float64Array;
  private readonly distances: Float64Array; // (largest logit − logit) / temperature
  private readonly weights: Float64Array; // exp(−distance), or 0 for a truncated token

  constructor(private readonly vocab: number) {
    this.sums = new Float64Array(Math.ceil(vocab / BLOCK));
    this.distances = new Float64Array(vocab);
    this.weights = new Float64Array(vocab);
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
    if (outputKindFor(options) === 'probabilities') return this.draw(values, uniform);
    const logits = penalizes(options) ? penalized(values, tokens, options.repetitionPenalty!) : values;
    const best = argMax(logits);
    if (options.temperature === 0) return { token: best, logprob: 0 };
    this.weigh(logits, logits[best]!, options.temperature);
    const { topK, topP } = options;
    if (topK !== undefined) this.truncate((count) => count >= topK);
    if (topP !== undefined && topP < 1) {
      const mass = topP * this.weights.reduce((sum, w) => sum + w, 0);
      this.truncate((_, sum) => sum >= mass);
    }
    return this.draw(this.weights, uniform);
  }

  /** The token at which the running sum of weights passes uniform · their sum. */
  private draw(weights: ArrayLike<number>, uniform: number): Sampled {
    const { sums, vocab } = this;
    let total = 0;
    for (let block = 0; block < sums.length; block++) {
      const end = Math.min(vocab, (block + 1) * BLOCK);
      let sum = 0;
      for (let i = block * BLOCK; i < end; i++) sum += weights[i]!;
      sums[block] = sum;
      total += sum;
    }
    if (!Number.isFinite(total))
      throw new GauntletError('BAD_MODEL', 'the probabilities of the next token are not finite');
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

  private weigh(logits: ArrayLike<number>, largest: number, temperature: number): void {
    for (let i = 0; i < this.vocab; i++) {
      const distance = (largest - logits[i]!) / temperature;
      this.distances[i] = distance;
      this.weights[i] = Math.exp(-distance);
    }
  }

  /**
   * Keeps the tokens with the largest weights, until `enough` holds for their number and total weight. Ties keep the lower
   * index. Only the tokens in the bucket at the border are sorted.
   */
  private truncate(enough: (count: number, sum: number) => boolean): void {
    const { distances, weights } = this;
    const counts = new Int32Array(BUCKETS);
    const sums = new Float64Array(BUCKETS);
    const bucketOf = (i: number): number => Math.min(BUCKETS - 1, Math.floor(distances[i]! * BUCKETS_PER_NAT));
    for (let i = 0; i < this.vocab; i++) {
      if (weights[i] === 0) continue;
      const bucket = bucketOf(i);
      counts[bucket]!++;
      sums[bucket]! += weights[i]!;
    }
    let border = 0;
    let [count, sum] = [0, 0];
    while (border < BUCKETS - 1 && !enough(count + counts[border]!, sum + sums[border]!)) {
      count += counts[border]!;
      sum += sums[border++]!;
    }
    const near: number[] = [];
    for (let i = 0; i < this.vocab; i++) {
      if (weights[i] === 0) continue;
      const bucket = bucketOf(i);
      if (bucket === border) near.push(i);
      else if (bucket > border) weights[i] = 0;
    }
    near.sort((a, b) => distances[a]! - distances[b]! || a - b);
    for (const i of near) {
      if (count > 0 && enough(count, sum)) {
        weights[i] = 0;
        continue;
      }
      count++;
      sum += weights[i]!;
    }
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

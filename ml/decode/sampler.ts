// One token from what the model tells of a row. Sampling is exact: the inverse of the cumulative distribution in token
// order, at one uniform number, so the same key gives the same token on every run.
import type { Choice } from '../nn/decodeGraph.js';

/** What shapes the distribution; temperature 0 is greedy. */
export interface SamplingOptions {
  temperature: number;
  topK?: number; // keep so many likeliest tokens
  topP?: number; // of those, keep the fewest likeliest whose probabilities reach topP
  repetitionPenalty?: number; // divides positive logits of tokens of the row, multiplies negative ones
}

export interface Sampled {
  token: number;
  logprob: number; // under the distribution that it was drawn from
}

const penalises = ({ repetitionPenalty = 1 }: SamplingOptions): boolean => repetitionPenalty !== 1;
const cuts = ({ topK, topP }: SamplingOptions): boolean => topK !== undefined || (topP !== undefined && topP < 1);

/** What the graph has to tell: nothing that it can decide by itself. */
export function choiceOf(options: SamplingOptions): Choice {
  if (penalises(options)) return 'logits';
  if (options.temperature === 0) return 'greedy';
  return cuts(options) ? 'logits' : 'probabilities';
}

const BLOCK = 256; // tokens whose probabilities are summed before the token is looked for
const BUCKETS = 4096;
const BUCKETS_PER_NAT = 64;

/** Samples rows over one vocabulary; keeps scratch space between calls. */
export class Sampler {
  private readonly sums: Float64Array;
  private readonly distances: Float64Array; // of a token's logit from the largest, over the temperature
  private readonly weights: Float64Array; // exp(−distance), or 0 where the token was cut

  constructor(private readonly vocab: number) {
    this.sums = new Float64Array(Math.ceil(vocab / BLOCK));
    this.distances = new Float64Array(vocab);
    this.weights = new Float64Array(vocab);
  }

  /**
   * @param next what a graph of `choiceOf(options)` gave
   * @param uniform in (0, 1)
   * @param tokens of the row so far
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
    if (choiceOf(options) === 'probabilities') return this.draw(values, uniform);
    const logits = penalises(options) ? penalised(values, tokens, options.repetitionPenalty!) : values;
    const likeliest = argMax(logits);
    if (options.temperature === 0) return { token: likeliest, logprob: 0 };
    this.weigh(logits, logits[likeliest]!, options.temperature);
    const { topK, topP } = options;
    if (topK !== undefined) this.cut((kept) => kept >= topK);
    if (topP !== undefined && topP < 1) {
      const mass = topP * this.weights.reduce((sum, w) => sum + w, 0);
      this.cut((_, sum) => sum >= mass);
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
    // rounding: the last block may fall short of the target by an ulp, and end in tokens that were cut
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
   * Keeps the heaviest tokens up to the first at which `enough` holds of their number and weight; of equals, those of
   * lower index. Only tokens near the border are sorted.
   */
  private cut(enough: (kept: number, sum: number) => boolean): void {
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
    let [kept, sum] = [0, 0];
    while (border < BUCKETS - 1 && !enough(kept + counts[border]!, sum + sums[border]!)) {
      kept += counts[border]!;
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
      if (kept > 0 && enough(kept, sum)) {
        weights[i] = 0;
        continue;
      }
      kept++;
      sum += weights[i]!;
    }
  }
}

/** The first of the largest. */
function argMax(values: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i;
  return best;
}

/** Keskar et al. 2019, as transformers has it. */
function penalised(logits: Float32Array, tokens: readonly number[], penalty: number): Float32Array {
  const out = logits.slice();
  for (const token of tokens) {
    const x = logits[token]!;
    out[token] = x > 0 ? x / penalty : x * penalty;
  }
  return out;
}

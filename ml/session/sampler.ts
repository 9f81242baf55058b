// One token from one row of logits. Sampling is exact: the inverse of the cumulative distribution in token order, at one
// uniform number, so the same key gives the same token on every run.

/** What shapes the distribution; temperature 0 is greedy. */
export interface SamplingOptions {
  temperature: number;
  topP?: number; // keep the fewest likeliest tokens whose probabilities reach topP
}

/** Greedy choice: the lowest index among the largest of `count` logits from `offset`. */
export function argMax(logits: Float32Array, offset: number, count: number): number {
  let best = 0;
  for (let i = 1; i < count; i++) if (logits[offset + i]! > logits[offset + best]!) best = i;
  return best;
}

/** Samples rows over one vocabulary; keeps scratch space between calls. */
export class Sampler {
  private readonly weights: Float64Array;

  constructor(private readonly vocab: number) {
    this.weights = new Float64Array(vocab);
  }

  /** @param uniform in (0, 1) */
  sample(logits: Float32Array, offset: number, options: SamplingOptions, uniform: number): number {
    if (options.temperature === 0) return argMax(logits, offset, this.vocab);
    const { weights, vocab } = this;
    const largest = logits[offset + argMax(logits, offset, vocab)]!;
    const scale = 1 / options.temperature;
    let total = 0;
    for (let i = 0; i < vocab; i++) total += weights[i] = Math.exp((logits[offset + i]! - largest) * scale);
    if (options.topP !== undefined && options.topP < 1) total = this.cut(options.topP * total);
    const target = uniform * total;
    let sum = 0;
    let last = 0;
    for (let i = 0; i < vocab; i++) {
      if (weights[i] === 0) continue;
      sum += weights[i]!;
      last = i;
      if (sum > target) return i;
    }
    return last; // rounding: the sum fell short of the target by an ulp
  }

  /** Zeroes all but the heaviest weights that reach `mass` (ties: lower index first); their sum. */
  private cut(mass: number): number {
    const { weights } = this;
    const order = Array.from(weights.keys()).sort((a, b) => weights[b]! - weights[a]! || a - b);
    let total = 0;
    let kept = 0;
    while (kept < order.length && (kept === 0 || total < mass)) total += weights[order[kept++]!]!;
    for (const i of order.slice(kept)) weights[i] = 0;
    return total;
  }
}

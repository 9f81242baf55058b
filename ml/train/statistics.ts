// Adds the sums of parts and computes the statistics of an update.
import type { PolicyStats } from '../../core/schema/trajectory.js';
import type { GradientSums } from '../engine/engine.js';

type Numbers = Omit<GradientSums, 'gradients' | 'ratios'>;

/** Adds parts in the given order with 64 bits. The gradients are rounded once. */
export class GradientTotal {
  private readonly gradients: Float64Array;
  private readonly numbers: Numbers = {
    loss: 0,
    divisor: 0,
    ratio: 0,
    approxKl: 0,
    clipped: 0,
    entropy: 0,
    tokens: 0,
  };

  constructor(size: number) {
    this.gradients = new Float64Array(size);
  }

  /** All parts must have the same statistics. Ratios are not added, because they belong to single tokens. */
  add({ gradients, ratios: _, ...numbers }: GradientSums): void {
    const total = this.gradients;
    for (let i = 0; i < total.length; i++) total[i]! += gradients[i]!;
    for (const key of Object.keys(numbers) as (keyof Numbers)[])
      this.numbers[key] = (this.numbers[key] ?? 0) + numbers[key]!;
  }

  get sums(): GradientSums {
    return { gradients: new Float32Array(this.gradients), ...this.numbers };
  }
}

export function policyStats(sums: GradientSums, gradNorm: number): PolicyStats {
  const { tokens } = sums;
  const means = {
    ratio: sums.ratio / tokens,
    approxKl: sums.approxKl / tokens,
    clipFraction: sums.clipped / tokens,
    entropy: sums.entropy / tokens,
  };
  const optional = {
    policyLoss: mean(sums.policyLoss, tokens),
    exactEntropy: mean(sums.exactEntropy, tokens),
    kl: mean(sums.kl, tokens),
  };
  const known = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined));
  return { loss: sums.loss / sums.divisor, ...means, gradNorm, tokens, ...known };
}

const mean = (sum: number | undefined, count: number): number | undefined =>
  sum === undefined ? undefined : sum / count;

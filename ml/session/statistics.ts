// From sums over the tokens of shards to the figures of one update.
import type { PolicyStats } from '../../core/schema/trajectory.js';
import type { GradientSums } from './engine.js';

type Numbers = Omit<GradientSums, 'gradients'>;

/** In index order, in f64, the gradients rounded once. A statistic that one part has all parts have. */
export function addSums(parts: readonly GradientSums[], size: number): GradientSums {
  const total = new Float64Array(size);
  const sums: Numbers = { loss: 0, divisor: 0, ratio: 0, approxKl: 0, clipped: 0, entropy: 0, tokens: 0 };
  for (const { gradients, ...numbers } of parts) {
    for (let i = 0; i < size; i++) total[i]! += gradients[i]!;
    for (const key of Object.keys(numbers) as (keyof Numbers)[]) sums[key] = (sums[key] ?? 0) + numbers[key]!;
  }
  return { gradients: new Float32Array(total), ...sums };
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
    policyLoss: over(sums.policyLoss, tokens),
    exactEntropy: over(sums.exactEntropy, tokens),
    kl: over(sums.kl, tokens),
    valueLoss: over(sums.valueLoss, tokens),
    valueClipFraction: over(sums.valueClipped, tokens),
    explainedVariance: explainedVariance(sums),
  };
  const known = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined));
  return { loss: sums.loss / sums.divisor, ...means, gradNorm, tokens, ...known };
}

const over = (sum: number | undefined, count: number): number | undefined =>
  sum === undefined ? undefined : sum / count;

/** 1 − Var(returns − values) / Var(returns), as CleanRL's ppo.py; undefined where all returns are equal. */
function explainedVariance({ tokens, ...sums }: GradientSums): number | undefined {
  const { returns, returnsSquared, valueErrors, valueErrorsSquared } = sums;
  if (returns === undefined) return undefined;
  const variance = (sum: number, squares: number): number => squares / tokens - (sum / tokens) ** 2;
  const ofReturns = variance(returns, returnsSquared!);
  if (!(ofReturns > 1e-12 * (returnsSquared! / tokens))) return undefined; // what rounding leaves of nothing
  return 1 - variance(valueErrors!, valueErrorsSquared!) / ofReturns;
}

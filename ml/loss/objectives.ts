// Objectives as graphs: sums over the trained tokens, never means, so that the sums of parts can be added and divided
// once. Every input is [rows, 1]. `mask` is 1 for a trained token, else 0. `weight` is the weight of a token's loss: the
// mask itself, or the mask divided by the number of trained tokens of its sequence. Statistics are sums over tokens.
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import type { TokenScores } from './head.js';

/** A coefficient of 0 leaves out its term, its inputs and its sums. */
export interface PpoLoss {
  supervised?: boolean; // cross entropy instead of the clipped surrogate
  clip: number; // the clipped ratio is at least 1 − clip
  clipHigh: number; // the clipped ratio is at most 1 + clipHigh
  entropyBonus: number;
  klCoefficient: number;
}

interface PolicyInputs {
  old?: Value; // log-probs of the sampling policy; absent if supervised
  advantage: Value;
  mask: Value;
  weight: Value;
  reference?: Value; // log-probs of the reference; only with a KL penalty
}

/** Applies `part` to every input. */
export const mapInputs = (inputs: PolicyInputs, part: (x: Value) => Value): PolicyInputs => ({
  old: inputs.old && part(inputs.old),
  advantage: part(inputs.advantage),
  mask: part(inputs.mask),
  weight: part(inputs.weight),
  reference: inputs.reference && part(inputs.reference),
});

const SUMS = ['loss', 'ratio', 'approxKl', 'clipped', 'entropy', 'tokens'] as const;
type PolicySum = (typeof SUMS)[number] | 'policyLoss' | 'exactEntropy' | 'kl';

/** The sums in the order of the columns of `perToken`. */
export function ppoSums(loss: PpoLoss): PolicySum[] {
  const sums: PolicySum[] = [...SUMS];
  if (loss.entropyBonus > 0 || loss.klCoefficient > 0) sums.push('policyLoss');
  if (loss.entropyBonus > 0) sums.push('exactEntropy');
  if (loss.klCoefficient > 0) sums.push('kl');
  return sums;
}

interface Objective {
  /** The sum to minimize, a scalar: backward() starts from it. */
  loss: Value;
  /** [rows, statistics]; their column sums are the statistics. */
  perToken: Value;
}

const total = (g: Graph, x: Value): Value => g.reduceSum(x, [0, 1], false);

/**
 * Per token −min(r·A, clip(r, 1−ε, 1+ε′)·A) − c·H + β·KL with r = exp(logprob − old): the clipped surrogate of Schulman
 * et al. 2017, eq. 7, with a separate clip range above 1 ("clip-higher" of Yu et al. 2025, "DAPO"), minus the entropy bonus,
 * plus the KL penalty against the reference. Supervised: −logprob·A instead of the surrogate, the cross entropy if A = 1.
 * approxKl is Σ (r − 1) − log r; clipped counts ratios outside the range; entropy is Σ −logprob; kl is the k3 estimate
 * exp(ref − lp) − (ref − lp) − 1 (Schulman 2020, "Approximating KL divergence"), which is never negative.
 */
export function ppoObjective(g: Graph, scores: TokenScores, inputs: PolicyInputs, options: PpoLoss): Objective {
  const { advantage, mask, weight, reference } = inputs;
  const logRatio = g.sub(scores.logprob, inputs.old ?? scores.logprob); // supervised: every ratio is 1
  const ratio = g.exp(logRatio);
  const clipped = g.clip(ratio, 1 - options.clip, 1 + options.clipHigh);
  const gain = options.supervised
    ? g.mul(scores.logprob, advantage)
    : g.min(g.mul(ratio, advantage), g.mul(clipped, advantage));
  const surrogate = g.neg(gain);
  const outside = g.sub(ratio, clipped);
  const inside = g.cast(g.lessOrEqual(g.mul(outside, outside), g.scalar(0)), 'float32');
  let perToken = surrogate;
  const extra: Value[] = [];
  if (options.entropyBonus > 0) {
    perToken = g.sub(perToken, g.scale(scores.entropy!, options.entropyBonus));
    extra.push(scores.entropy!);
  }
  if (options.klCoefficient > 0) {
    const difference = g.mul(g.sub(reference!, scores.logprob), mask); // rows with mask 0 have reference 0: exp would overflow
    const kl = g.sub(g.sub(g.exp(difference), difference), g.scalar(1));
    perToken = g.add(perToken, g.scale(kl, options.klCoefficient));
    extra.push(kl);
  }
  if (ppoSums(options).includes('policyLoss')) extra.unshift(surrogate);
  const loss = g.mul(perToken, weight);
  const statistics = [
    loss,
    g.mul(ratio, mask),
    g.mul(g.sub(g.sub(ratio, g.scalar(1)), logRatio), mask),
    g.mul(g.sub(g.scalar(1), inside), mask),
    g.neg(g.mul(scores.logprob, mask)),
    mask,
    ...extra.map((x) => g.mul(x, mask)),
  ];
  return { loss: total(g, loss), perToken: g.concat(statistics, 1) };
}

// What is minimised, as graph: sums over the trained tokens, never means, so that shards add up and are divided once.
// Every input is [rows, 1]; mask is 1 where a token is trained, 0 elsewhere.
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';

/** Order of the `sums` vector. */
export const PPO_SUMS = ['loss', 'ratio', 'approxKl', 'clipped', 'entropy', 'tokens'] as const;

export interface Objective {
  /** Σ over trained tokens of what is minimised, a scalar: what backward() starts from. */
  loss: Value;
  /** [6] in the order of PPO_SUMS */
  sums: Value;
}

const total = (g: Graph, x: Value): Value => g.reduceSum(x, [0, 1], false);

/**
 * −Σ min(r·A, clip(r, 1−ε, 1+ε)·A) with r = exp(logprob − old): the clipped surrogate of Schulman et al. 2017, eq. 7.
 * approxKl is Σ (r − 1) − log r; clipped counts |r − 1| > ε; entropy is Σ −logprob.
 */
export function ppoObjective(
  g: Graph,
  logprob: Value,
  old: Value,
  advantage: Value,
  mask: Value,
  clip: number,
): Objective {
  const logRatio = g.sub(logprob, old);
  const ratio = g.exp(logRatio);
  const surrogate = g.min(g.mul(ratio, advantage), g.mul(g.clip(ratio, 1 - clip, 1 + clip), advantage));
  const loss = g.neg(g.mul(surrogate, mask));
  const excess = g.sub(ratio, g.scalar(1));
  const inside = g.cast(g.lessOrEqual(g.mul(excess, excess), g.scalar(clip * clip)), 'float32');
  const perToken = [
    loss,
    g.mul(ratio, mask),
    g.mul(g.sub(excess, logRatio), mask),
    g.mul(g.sub(g.scalar(1), inside), mask),
    g.neg(g.mul(logprob, mask)),
    mask,
  ];
  return { loss: total(g, loss), sums: g.reduceSum(g.concat(perToken, 1), [0], false) };
}

/** −Σ logprob·mask: cross entropy with the given tokens. */
export function crossEntropyObjective(g: Graph, logprob: Value, mask: Value): Value {
  return g.neg(total(g, g.mul(logprob, mask)));
}

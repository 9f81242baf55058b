// The order of minibatches and the size of steps.
import { type KeyPart, RandomStream } from '../random.js';

/** Every epoch sees every row once, in an order drawn from (…path, epoch); the last minibatch may be smaller. */
export function planMinibatches<T>(rows: readonly T[], epochs: number, size: number, path: readonly KeyPart[]): T[][] {
  const minibatches: T[][] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = new RandomStream(...path, epoch).shuffle(rows);
    for (let from = 0; from < order.length; from += size) minibatches.push(order.slice(from, from + size));
  }
  return minibatches;
}

/**
 * Factor of the learning rate at policy update `step` (1-based, both roles counted) of `total`: linear warm-up over
 * `warmupSteps` updates, times a linear fall that ends at 1 − decay with the last update.
 */
export function learningRateFactor(
  step: number,
  total: number,
  { warmupSteps, decay }: { warmupSteps: number; decay: number },
): number {
  const warmup = warmupSteps === 0 ? 1 : Math.min(1, step / warmupSteps);
  const done = total <= 1 ? 0 : Math.min(1, (step - 1) / (total - 1));
  return warmup * (1 - decay * done);
}

// The order of minibatches and the learning rate.
import { type KeyPart, RandomStream } from '../base/random.js';

/** Each epoch uses every row once, in an order drawn from (…path, epoch). The last minibatch may be smaller. */
export function planMinibatches<T>(rows: readonly T[], epochs: number, size: number, path: readonly KeyPart[]): T[][] {
  const minibatches: T[][] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = new RandomStream(...path, epoch).shuffle(rows);
    for (let from = 0; from < order.length; from += size) minibatches.push(order.slice(from, from + size));
  }
  return minibatches;
}

/** The number of minibatches that planMinibatches returns. */
export const countMinibatches = (rows: number, { epochs, minibatch }: { epochs: number; minibatch: number }): number =>
  epochs * Math.ceil(rows / minibatch);

export interface RateSchedule {
  schedule: 'constant' | 'linear' | 'cosine';
  warmupSteps: number;
}

/**
 * Factor of the learning rate at policy update `step` (1-based, of both roles) of `total`: linear warm-up over
 * `warmupSteps` updates, times a decay from 1 at the first update to 0 after the last one.
 */
export function learningRateFactor(step: number, total: number, { schedule, warmupSteps }: RateSchedule): number {
  const warmup = warmupSteps === 0 ? 1 : Math.min(1, step / warmupSteps);
  const done = Math.min(1, (step - 1) / total);
  return warmup * (1 - DECAY[schedule](done));
}

/** By how much the learning rate has fallen: from 0 at the start to 1 at the end. `done` is in [0, 1]. */
const DECAY: Record<RateSchedule['schedule'], (done: number) => number> = {
  constant: () => 0,
  linear: (done) => done,
  cosine: (done) => (1 - Math.cos(Math.PI * done)) / 2, // Loshchilov & Hutter 2017, eq. 5
};

// Divides a batch into shards, which several workers compute at the same time. A shard depends only on the batch and the number
// of shards, so it does not matter which worker computes it, or how often.

export interface Shard {
  index: number; // counts from 0
  of: number; // how many shards there are
}

export const shardsOf = (count: number): Shard[] => Array.from({ length: count }, (_, index) => ({ index, of: count }));

/** A contiguous share of the items. All shards together have every item once, in order. */
export function sliceOf<T>(items: readonly T[], { index, of }: Shard): T[] {
  const start = (i: number): number => Math.floor((items.length * i) / of);
  return items.slice(start(index), start(index + 1));
}

/** Whether item `i` belongs to the shard. Items are dealt out in turn, so shards of a list sorted by size are about equal. */
export const isIn = (i: number, { index, of }: Shard): boolean => i % of === index;

/**
 * The most activities that a step may plan. The Temporal server ends a run whose history has 51,200 events, and a run
 * continues as new between steps only. An activity takes up to six events, and half of the activities may be given out twice.
 */
export const MAX_STEP_ACTIVITIES = 5_000;

/** How many activities a step plans at most, with the evaluations before the first step and after the last one. */
export const countStepActivities = (shards: number, minibatches: number): number =>
  minibatches * (shards + 1) + stepOverhead(shards);

/** How many minibatches of a step can be shared. */
export const countSharedMinibatches = (shards: number): number =>
  Math.floor((MAX_STEP_ACTIVITIES - stepOverhead(shards)) / (shards + 1));

/** The number of activities for rollouts with tests, for scores, and for evaluations. */
const stepOverhead = (shards: number): number => 10 * shards + 40;

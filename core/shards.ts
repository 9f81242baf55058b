// Batches that several workers compute at the same time. A shard depends on the batch and the number of shards only, so
// it does not matter which worker computes it, or how often.

export interface Shard {
  index: number; // from 0
  of: number;
}

export const shardsOf = (count: number): Shard[] => Array.from({ length: count }, (_, index) => ({ index, of: count }));

/** A contiguous share of the items. All shards together have every item once, in order. */
export function sliceOf<T>(items: readonly T[], { index, of }: Shard): T[] {
  const start = (i: number): number => Math.floor((items.length * i) / of);
  return items.slice(start(index), start(index + 1));
}

/** Whether item `i` belongs to the shard. Items are dealt out in turn, so shards of a list sorted by size are about equal. */
export const isIn = (i: number, { index, of }: Shard): boolean => i % of === index;

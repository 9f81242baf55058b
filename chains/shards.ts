// Results of the shards of a batch, which several workers computed (`share` in method/activity.ts).
import type { ShardResult } from '../method/activity.js';
import type { Scope } from './scope.js';

/** What the shards computed, in their order. The time that the slowest one took counts as spent. */
export async function readShards<T>({ store }: Pick<Scope, 'store'>, shards: readonly ShardResult<T>[]) {
  const parts = await Promise.all(shards.map(({ part }) => store.getJson(part)));
  return { parts, earlierSeconds: Math.max(...shards.map(({ seconds }) => seconds)) };
}

export const tokensOf = (shards: readonly ShardResult<unknown>[]): number =>
  shards.reduce((sum, { tokens }) => sum + tokens, 0);

// Results of the shards of a batch, which several workers computed (workflows/spread.ts).
import type { ShardResult } from '../method/types.js';
import type { Scope } from './scope.js';

/** What the shards computed, in their order. The time that the slowest one took counts as spent. */
export async function readShards<T>(scope: Scope, shards: readonly ShardResult<T>[]): Promise<T[]> {
  scope.earlierSeconds = Math.max(...shards.map(({ seconds }) => seconds));
  return Promise.all(shards.map(({ part }) => scope.store.getJson(part)));
}

export const tokensOf = (shards: readonly ShardResult<unknown>[]): number =>
  shards.reduce((sum, { tokens }) => sum + tokens, 0);

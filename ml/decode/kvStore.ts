// Keys and values of finished sequences. A prompt that continues a sequence (the next stage of a chain), or starts with the
// same tokens, reuses them. The main thread holds them in shared memory, so any worker can continue a chain. The cache changes no
// result: an entry serves only a sequence that would fill those positions in the same segments (segments.ts).
// Every update makes new weights, and no chain continues with old weights. So only the latest weights keep their entries.
import { createHash } from 'node:crypto';
import { Lru } from '../engine/budget.js';
import { dropShared } from '../engine/garbage.js';
import type { CachedPrefix } from './decodeBatch.js';
import type { Segment } from './segments.js';

const KEPT_WEIGHTS = 3; // the two roles, and the base

interface Entry {
  weights: string;
  keys: string[]; // one per segment, for the tokens up to its end
  cache: CachedPrefix;
}

export class KvStore {
  private readonly entries: Lru<Entry>; // by the last of the keys of an entry
  private readonly holders = new Map<string, Set<Entry>>(); // for each key, the entries that have it
  private weights: string[] = []; // the weights that were used last, the latest first

  constructor(readonly limit: number) {
    this.entries = new Lru(limit, (entry) => this.forget(entry));
  }

  get used(): number {
    return this.entries.used;
  }

  /** The longest cached prefix of a sequence, without its last token. `weights` identifies the weights in use. */
  find(weights: string, tokens: readonly number[], segments: readonly Segment[]): CachedPrefix | undefined {
    this.use(weights);
    if (this.entries.size === 0) return undefined;
    const ends = keysOf(weights, tokens, segments.slice(0, -1));
    for (let s = ends.length - 1; s >= 0; s--) {
      const [entry] = this.holders.get(ends[s]!) ?? [];
      if (!entry) continue;
      this.entries.get(entry.keys.at(-1)!); // marks the entry as the one that was used last
      return { ...entry.cache, length: segments[s]!.to };
    }
    return undefined;
  }

  /** Adds the cache of `segments`. Removes its shorter prefixes, then the least recently used entries. */
  add(weights: string, tokens: readonly number[], segments: readonly Segment[], cache: CachedPrefix): void {
    if (cache.kv.byteLength > this.limit) return;
    this.use(weights);
    const entry = { weights, keys: keysOf(weights, tokens, segments), cache };
    for (const key of entry.keys) this.entries.delete(key);
    this.entries.set(entry.keys.at(-1)!, entry, cache.kv.byteLength);
    for (const key of entry.keys) this.holders.set(key, (this.holders.get(key) ?? new Set()).add(entry));
  }

  /** Notes that `weights` are used now. Drops the entries of all but the KEPT_WEIGHTS weights that were used last. */
  private use(weights: string): void {
    if (this.weights[0] === weights) return;
    this.weights = [weights, ...this.weights.filter((other) => other !== weights)].slice(0, KEPT_WEIGHTS);
    this.entries.deleteWhere((entry) => !this.weights.includes(entry.weights));
  }

  private forget(entry: Entry): void {
    for (const key of entry.keys) {
      const holders = this.holders.get(key)!;
      holders.delete(entry);
      if (holders.size === 0) this.holders.delete(key);
    }
    dropShared(entry.cache.kv.byteLength);
  }
}

/** Equal keys mean equal tokens, in equal segments, up to the end of that segment. */
function keysOf(weights: string, tokens: readonly number[], segments: readonly Segment[]): string[] {
  let key = weights;
  return segments.map(({ from, to, steps }) => {
    const text = `${key} ${steps ? 'steps' : 'prompt'} ${tokens.slice(from, to).join()}`;
    key = createHash('sha256').update(text).digest('base64');
    return key;
  });
}

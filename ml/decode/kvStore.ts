// Keys and values of finished sequences, for prompts that continue them (the next stage of a chain) or start with the same
// tokens. The main thread holds them in shared memory, so any worker can continue a chain. The cache changes no result: an
// entry serves only a sequence that would fill those positions in the same segments (segments.ts).
import { createHash } from 'node:crypto';
import type { CachedPrefix } from './decodeBatch.js';
import type { Segment } from './segments.js';

interface Entry {
  keys: string[]; // one per end of a segment
  cache: CachedPrefix;
}

export class KvStore {
  private readonly entries = new Map<string, Entry>(); // by the last key; least recently used first
  private readonly holders = new Map<string, Set<Entry>>(); // by every key
  private bytes = 0;

  constructor(readonly limit: number) {}

  /** The longest cached prefix of a sequence, without its last token. `weights` identifies the weights in use. */
  find(weights: string, tokens: readonly number[], segments: readonly Segment[]): CachedPrefix | undefined {
    if (this.entries.size === 0) return undefined;
    const ends = keysOf(weights, tokens, segments.slice(0, -1));
    for (let s = ends.length - 1; s >= 0; s--) {
      const [entry] = this.holders.get(ends[s]!) ?? [];
      if (!entry) continue;
      const last = entry.keys.at(-1)!;
      this.entries.delete(last);
      this.entries.set(last, entry);
      return { ...entry.cache, length: segments[s]!.to };
    }
    return undefined;
  }

  /** Adds the cache of `segments`. Removes its shorter prefixes, then the least recently used entries. */
  add(weights: string, tokens: readonly number[], segments: readonly Segment[], cache: CachedPrefix): void {
    if (cache.kv.byteLength > this.limit) return;
    const entry = { keys: keysOf(weights, tokens, segments), cache };
    for (const key of entry.keys) this.remove(key);
    this.entries.set(entry.keys.at(-1)!, entry);
    for (const key of entry.keys) this.holders.set(key, (this.holders.get(key) ?? new Set()).add(entry));
    this.bytes += cache.kv.byteLength;
    for (const key of this.entries.keys()) {
      if (this.bytes <= this.limit) return;
      this.remove(key);
    }
  }

  private remove(lastKey: string): void {
    const entry = this.entries.get(lastKey);
    if (!entry) return;
    this.entries.delete(lastKey);
    this.bytes -= entry.cache.kv.byteLength;
    for (const key of entry.keys) {
      const holders = this.holders.get(key)!;
      holders.delete(entry);
      if (holders.size === 0) this.holders.delete(key);
    }
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

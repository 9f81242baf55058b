// Keys and values of rows that are done, for prompts that go on where they ended (the next stage of a chain) or begin as
// they did. Held by the main thread in shared memory, so that any worker may take a chain on. What is kept never shows in
// a result: an entry serves only a row that would fill those places in the same way (segments.ts).
import { createHash } from 'node:crypto';
import type { KeptCache } from './decodeBatch.js';
import type { Segment } from './segments.js';

export const DEFAULT_KV_CACHE_BYTES = 256 * 2 ** 20;

interface Entry {
  keys: string[]; // one for every end of a segment
  cache: KeptCache;
}

export class KvStore {
  private readonly entries = new Map<string, Entry>(); // by the last key; those used least recently first
  private readonly holders = new Map<string, Set<Entry>>(); // by every key
  private bytes = 0;

  constructor(private readonly limit: number) {}

  /** The longest beginning of a row that is kept, short of its last token. `weights` names what it is computed with. */
  find(weights: string, tokens: readonly number[], segments: readonly Segment[]): KeptCache | undefined {
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

  /** Keeps what fills the places of `segments`; a shorter beginning of it goes, then what was not used for longest. */
  add(weights: string, tokens: readonly number[], segments: readonly Segment[], cache: KeptCache): void {
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

/** Equal keys: equal tokens up to the end of that segment, in equal segments. */
function keysOf(weights: string, tokens: readonly number[], segments: readonly Segment[]): string[] {
  let key = weights;
  return segments.map(({ from, to, steps }) => {
    const text = `${key} ${steps ? 'steps' : 'prompt'} ${tokens.slice(from, to).join()}`;
    key = createHash('sha256').update(text).digest('base64');
    return key;
  });
}

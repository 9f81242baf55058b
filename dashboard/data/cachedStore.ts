// A store that keeps the last artifacts it parsed: every group of a step reads the same ones. An artifact is named by its
// digest, so it never changes.
import { ObjectStore } from '../../store/objectStore.js';
import type { Digest } from '../../store/store.js';

const KEPT = 12;

export class CachedStore extends ObjectStore {
  private readonly parsed = new Map<Digest, Promise<unknown>>();

  constructor({ objects, cache }: ObjectStore) {
    super(objects, cache);
  }

  override getJson<T = unknown>(digest: Digest): Promise<T> {
    const value = this.parsed.get(digest) ?? super.getJson(digest);
    this.parsed.delete(digest);
    this.parsed.set(digest, value); // the latest is the last
    value.catch(() => this.parsed.delete(digest));
    const [oldest] = this.parsed.keys();
    if (this.parsed.size > KEPT && oldest !== undefined) this.parsed.delete(oldest);
    return value as Promise<T>;
  }
}

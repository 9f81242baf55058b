// A store that keeps the last artifacts it parsed: every group of a step reads the same ones. An artifact is named by its
// digest, so it never changes.
import { ObjectStore } from '../../store/objectStore.js';
import type { Digest, Ref } from '../../store/store.js';

const KEPT = 12;

export class CachedStore extends ObjectStore {
  private readonly parsed = new Map<Digest, Promise<unknown>>();

  constructor({ objects, cache }: ObjectStore) {
    super(objects, cache);
  }

  override getJson<T>(ref: Ref<T>): Promise<T> {
    const value = this.parsed.get(ref) ?? super.getJson(ref);
    this.parsed.delete(ref);
    this.parsed.set(ref, value); // the latest is the last
    value.catch(() => this.parsed.delete(ref));
    const [oldest] = this.parsed.keys();
    if (this.parsed.size > KEPT && oldest !== undefined) this.parsed.delete(oldest);
    return value as Promise<T>;
  }
}

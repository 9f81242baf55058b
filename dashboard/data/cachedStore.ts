// A store that keeps the artifacts that it parsed last, because every group of a step reads the same ones. A kept artifact
// is never out of date, because its name is the digest of its contents.
import { Lru } from '../../ml/engine/budget.js';
import { ObjectStore } from '../../store/objectStore.js';
import type { Ref } from '../../store/store.js';

const KEPT = 12;

export class CachedStore extends ObjectStore {
  private readonly parsed = new Lru<Promise<unknown>>(KEPT);

  constructor({ objects, cache }: ObjectStore) {
    super(objects, cache);
  }

  override getJson<T>(ref: Ref<T>): Promise<T> {
    const known = this.parsed.get(ref) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const value = super.getJson(ref);
    this.parsed.set(ref, value);
    value.catch(() => this.parsed.delete(ref));
    return value;
  }
}

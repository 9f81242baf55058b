// Lets a computation go on while its artifacts are written. What could rely on an artifact, a read or what names it, waits
// for all writes before it, and fails if one of them has failed.
import { digestBytes } from './canonicalJson.js';
import type { Digest, Store } from './store.js';

export interface DeferredWrites {
  /** Whoever puts an artifact must not change its bytes afterwards. */
  store: Store;
  /** Waits for all writes so far, and then rejects if one of them has failed. */
  written(): Promise<void>;
}

export function deferWrites(store: Store): DeferredWrites {
  const writes: Promise<Digest>[] = [];
  const written = async (): Promise<void> => {
    const failed = (await Promise.allSettled(writes)).find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  };
  const after =
    <A extends unknown[], R>(call: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      await written();
      return call.apply(store, given);
    };
  const deferring: Store = Object.assign(Object.create(store) as Store, {
    async putBlob(bytes: Uint8Array): Promise<Digest> {
      const write = store.putBlob(bytes);
      write.catch(() => undefined); // `written` reports it
      writes.push(write);
      return digestBytes(bytes);
    },
    getBlob: after(store.getBlob),
    hasBlob: after(store.hasBlob),
    putMemo: after(store.putMemo),
    writeRunFile: after(store.writeRunFile),
    createRunFile: after(store.createRunFile),
  });
  return { store: deferring, written };
}

// Writes artifacts in the background, so that a computation goes on meanwhile. Reads of artifacts, and writes of memo rows
// and files of a run, wait until all earlier artifacts are written, and fail if one of them could not be written.
import { digestBytes } from './canonicalJson.js';
import { allEnded } from './inParallel.js';
import type { Digest, Store } from './store.js';

export interface DeferredWrites {
  /** Whoever puts an artifact must not change its bytes afterwards. */
  store: Store;
  /** Waits for all writes so far, and then rejects if one of them has failed. */
  written(): Promise<unknown>;
}

export function deferWrites(store: Store): DeferredWrites {
  const writes: Promise<Digest>[] = [];
  const written = () => allEnded(writes);
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

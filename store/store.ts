// The interface of the artifact store: immutable blobs by digest, a memo table, and files of runs.
import type { Digest, Ref } from '../core/base/ref.js';

export type { Digest, Ref } from '../core/base/ref.js';

/** 'recorded': the row has a record of its inputs (store/memo.ts). Each names the other, so the loss of either shows. */
export type MemoKind = 'plain' | 'recorded';

export interface Store {
  /** Where a person finds a file, by its path inside the store ('' for the store): a path or a URL, for messages. */
  locate(path: string): string;
  putBlob(bytes: Uint8Array): Promise<Digest>;
  /**
   * Hashes the bytes on every read. A damaged blob is moved to quarantine and is missing from then on.
   * @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT, both with `artifact`
   */
  getBlob(digest: Digest): Promise<Uint8Array>;
  /**
   * Marks the blob as used, so that no sweep removes it. A damaged small blob is moved to quarantine and is missing; a
   * large one is only hashed when it is read.
   */
  hasBlob(digest: Digest): Promise<boolean>;
  /** JSON is stored canonically (sorted keys), so equal values have equal digests. */
  putJson<T>(value: T): Promise<Ref<T>>;
  getJson<T>(ref: Ref<T>): Promise<T>;
  /** The first writer wins; a later one changes nothing and gets the first digest. */
  putMemo(key: string, digest: Digest, kind?: MemoKind): Promise<Digest>;
  /** Marks the row as used. A damaged one is moved to quarantine. @throws GauntletError CORRUPT_ARTIFACT */
  getMemo(key: string): Promise<Digest | undefined>;
  memoKeys(): Promise<string[]>;
  /** Replaces a file of a run atomically; `path` is relative to runs/<runId>/. */
  writeRunFile(runId: string, path: string, bytes: Uint8Array | string): Promise<void>;
  /** Writes a file only if there is none; of several writers exactly one gets true. */
  createRunFile(runId: string, path: string, bytes: Uint8Array | string): Promise<boolean>;
  readRunFile(runId: string, path: string): Promise<Uint8Array | undefined>;
  /** Does nothing if the file does not exist. */
  removeRunFile(runId: string, path: string): Promise<void>;
  /** Every file below `folder` ('' for all), as sorted paths relative to runs/<runId>/. */
  listRunFiles(runId: string, folder: string): Promise<string[]>;
  /** When a file was written or last marked as used, in ms since 1970. Undefined if it does not exist. */
  runFileUsedAt(runId: string, path: string): Promise<number | undefined>;
  listRuns(): Promise<string[]>;
}

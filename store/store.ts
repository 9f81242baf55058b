// The port of the artifact store: immutable blobs by digest, a memo table, and files of runs written whole.

/** 'sha256:' + 64 hex digits. */
export type Digest = string;

/** 'recorded': the row of what was computed from which inputs lies beside it (store/memo.ts), so that neither can go unseen. */
export type MemoKind = 'plain' | 'recorded';

export interface Store {
  readonly url: string;
  putBlob(bytes: Uint8Array): Promise<Digest>;
  /**
   * The bytes are hashed on every read. A damaged blob is moved aside, so that from then on it is a missing one.
   * @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT, both with `artifact`
   */
  getBlob(digest: Digest): Promise<Uint8Array>;
  /**
   * One that is there counts as used from now on: whoever relies on the answer is safe from a sweep. A small one that is
   * damaged is none, and moved aside; a large one is hashed when it is read.
   */
  hasBlob(digest: Digest): Promise<boolean>;
  /** JSON is stored canonically (sorted keys), so equal values have equal digests. */
  putJson(value: unknown): Promise<Digest>;
  getJson<T = unknown>(digest: Digest): Promise<T>;
  /** First writer wins; a zombie twin that finishes late changes nothing and gets the first digest back. */
  putMemo(key: string, digest: Digest, kind?: MemoKind): Promise<Digest>;
  /** The row counts as used; a damaged one is moved aside. @throws GauntletError CORRUPT_ARTIFACT */
  getMemo(key: string): Promise<Digest | undefined>;
  memoKeys(): Promise<string[]>;
  /** A file of a run (path relative to runs/<runId>/), written to a temporary file, fsynced, renamed. */
  writeRunFile(runId: string, path: string, bytes: Uint8Array | string): Promise<void>;
  /** The same, but only where there is none yet: of several writers exactly one gets true. */
  createRunFile(runId: string, path: string, bytes: Uint8Array | string): Promise<boolean>;
  readRunFile(runId: string, path: string): Promise<Uint8Array | undefined>;
  /** Does nothing where there is no such file. */
  removeRunFile(runId: string, path: string): Promise<void>;
  /** Every file below `folder` ('' for all), as sorted paths relative to runs/<runId>/. */
  listRunFiles(runId: string, folder: string): Promise<string[]>;
  listRuns(): Promise<string[]>;
}

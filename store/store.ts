// The port of the artifact store: immutable blobs by digest, a memo table, and files of runs written whole.

/** 'sha256:' + 64 hex digits. */
export type Digest = string;

export interface Store {
  readonly url: string;
  putBlob(bytes: Uint8Array): Promise<Digest>;
  /** @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT (the bytes are hashed on every read). */
  getBlob(digest: Digest): Promise<Uint8Array>;
  hasBlob(digest: Digest): Promise<boolean>;
  /** JSON is stored canonically (sorted keys), so equal values have equal digests. */
  putJson(value: unknown): Promise<Digest>;
  getJson<T = unknown>(digest: Digest): Promise<T>;
  /** First writer wins; a zombie twin that finishes late changes nothing and gets the first digest back. */
  putMemo(key: string, digest: Digest): Promise<Digest>;
  getMemo(key: string): Promise<Digest | undefined>;
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

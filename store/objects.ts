// The port between the store and the place that keeps its bytes: a folder (fileObjects.ts), a bucket, or memory in tests.
// An object is written whole or not at all, and a reader sees every write that has finished. Keys are relative paths with
// '/'. Nothing outside store/ uses this port: others use store.ts.

export interface Use {
  bytes: number;
  usedAt: number; // ms since 1970: when the object was written or last touched
}

export interface Objects {
  /** The path or URL of an object, for messages. '' is the place of all objects. */
  locate(key: string): string;
  /** @param length reads at most so many bytes from the beginning; the object must not be empty */
  read(key: string, length?: number): Promise<Uint8Array | undefined>;
  /** Mode 'create': false if the object exists; of several writers exactly one gets true. */
  write(key: string, bytes: Uint8Array | string, mode: 'replace' | 'create'): Promise<boolean>;
  /** Undefined if the object does not exist. */
  use(key: string): Promise<Use | undefined>;
  /** Marks an object as used now, and says what it is afterwards. Undefined if it does not exist. */
  touch(key: string): Promise<Use | undefined>;
  /**
   * Moves an object and returns its last use. A touch that finishes before the object disappears from its old place counts;
   * a touch that begins afterwards does not find it there. Undefined if there is nothing to move.
   * @param durable false: after a loss of power the object may be in its old place again
   */
  move(from: string, to: string, durable?: boolean): Promise<Use | undefined>;
  /** Copies an object to a second place, unless there is one. False if `from` does not exist. */
  restore(from: string, to: string): Promise<boolean>;
  /** Does nothing if the object does not exist. */
  remove(key: string, durable?: boolean): Promise<void>;
  /** The objects at any depth below a folder, by their names relative to it. */
  names(folder: string): Promise<string[]>;
  list(folder: string): Promise<(Use & { name: string })[]>;
  /** The folders directly inside a folder. */
  folders(folder: string): Promise<string[]>;
}

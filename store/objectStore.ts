// The store: decides which object holds what, and checks objects when they are read. objects.ts is the interface to the place
// that keeps them.
import { randomBytes } from 'node:crypto';
import { GauntletError } from '../core/base/errors.js';
import type { BlobCache } from './blobCache.js';
import { canonicalJson, digestBytes, hexOf } from './canonicalJson.js';
import { checkDigest, isMemoKey, isRunId, isRunPath } from './checks.js';
import { layout, MEMO, memoText, parseMemo, RUNS } from './layout.js';
import type { Objects } from './objects.js';
import type { Digest, MemoKind, Ref, Store } from './store.js';

const HASHED_BYTES = 2 ** 20; // hasBlob hashes blobs up to this size, which takes one or two milliseconds

export class ObjectStore implements Store {
  constructor(
    readonly objects: Objects,
    readonly cache?: BlobCache,
  ) {}

  locate(path: string): string {
    return this.objects.locate(path);
  }

  async putBlob(bytes: Uint8Array): Promise<Digest> {
    const digest = digestBytes(bytes);
    const path = layout.blob(digest);
    if (!(await this.objects.write(path, bytes, 'create'))) {
      const present = (await this.objects.touch(path)) && (await this.objects.read(path));
      // a damaged blob is written again, and so is one that a sweep has just taken
      if (present === undefined || digestBytes(present) !== digest) await this.objects.write(path, bytes, 'replace');
    }
    await this.cache?.write(digest, bytes);
    return digest;
  }

  async getBlob(digest: Digest): Promise<Uint8Array> {
    checkDigest(digest);
    const cached = await this.cache?.read(digest);
    if (cached !== undefined) return cached;
    const path = layout.blob(digest);
    const bytes = (await this.objects.read(path)) ?? (await this.untake(digest));
    if (bytes === undefined) {
      throw new GauntletError('NOT_FOUND', `no artifact ${digest} in ${this.locate('')}`, { artifact: digest });
    }
    if (digestBytes(bytes) === digest) {
      await this.cache?.write(digest, bytes);
      return bytes;
    }
    const healed = await this.moveAside(path, hexOf(digest), (now) => digestBytes(now) === digest);
    if (healed !== undefined) return healed;
    const what = `artifact ${digest} was damaged at ${this.locate(path)} and is moved to quarantine`;
    throw new GauntletError('CORRUPT_ARTIFACT', what, { artifact: digest });
  }

  async hasBlob(digest: Digest): Promise<boolean> {
    checkDigest(digest);
    const path = layout.blob(digest);
    const use = (await this.objects.touch(path)) ?? ((await this.untake(digest)) && (await this.objects.touch(path)));
    if (use === undefined || use.bytes > HASHED_BYTES) return use !== undefined;
    const bytes = await this.objects.read(path);
    if (bytes === undefined || digestBytes(bytes) === digest) return bytes !== undefined;
    return (await this.moveAside(path, hexOf(digest), (now) => digestBytes(now) === digest)) !== undefined;
  }

  putJson<T>(value: T): Promise<Ref<T>> {
    return this.putBlob(Buffer.from(canonicalJson(value), 'utf8'));
  }

  async getJson<T>(ref: Ref<T>): Promise<T> {
    const text = Buffer.from(await this.getBlob(ref)).toString('utf8');
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new GauntletError('BAD_INPUT', `artifact ${ref} is not JSON`);
    }
  }

  async putMemo(key: string, digest: Digest, kind: MemoKind = 'plain'): Promise<Digest> {
    checkDigest(digest);
    const path = layout.memo(key);
    if (await this.objects.write(path, memoText(key, digest, kind), 'create')) return digest;
    return (await this.getMemo(key)) ?? this.putMemo(key, digest, kind);
  }

  async getMemo(key: string): Promise<Digest | undefined> {
    const path = layout.memo(key);
    const bytes = await this.objects.read(path);
    if (bytes === undefined) return undefined;
    const row = parseMemo(key, bytes);
    if (row === undefined) {
      await this.moveAside(path, `memo-${key}`, (now) => parseMemo(key, now) !== undefined);
      throw new GauntletError(
        'CORRUPT_ARTIFACT',
        `memo ${key} was damaged at ${this.locate(path)} and is moved to quarantine`,
      );
    }
    await this.objects.touch(path);
    return row.digest;
  }

  async memoKeys(): Promise<string[]> {
    return (await this.objects.names(MEMO)).filter(isMemoKey).sort();
  }

  async writeRunFile(runId: string, path: string, bytes: Uint8Array | string): Promise<void> {
    await this.objects.write(layout.run(runId, path), bytes, 'replace');
  }

  async createRunFile(runId: string, path: string, bytes: Uint8Array | string): Promise<boolean> {
    return this.objects.write(layout.run(runId, path), bytes, 'create');
  }

  async readRunFile(runId: string, path: string): Promise<Uint8Array | undefined> {
    return this.objects.read(layout.run(runId, path));
  }

  async removeRunFile(runId: string, path: string): Promise<void> {
    await this.objects.remove(layout.run(runId, path));
  }

  async listRunFiles(runId: string, folder: string): Promise<string[]> {
    const names = await this.objects.names(layout.run(runId, folder || undefined));
    return names
      .filter(isRunPath)
      .map((name) => (folder === '' ? name : `${folder}/${name}`))
      .sort();
  }

  async runFileUsedAt(runId: string, path: string): Promise<number | undefined> {
    return (await this.objects.use(layout.run(runId, path)))?.usedAt;
  }

  async listRuns(): Promise<string[]> {
    return (await this.objects.folders(RUNS)).filter(isRunId).sort();
  }

  /** Folders among the runs that no run can have, such as a copy that a person made. */
  async strayRuns(): Promise<string[]> {
    return (await this.objects.folders(RUNS)).filter((name) => !isRunId(name)).sort();
  }

  /** Restores a blob that a sweep has taken and not yet removed (store/sweep.ts). */
  private async untake(digest: Digest): Promise<Uint8Array | undefined> {
    const taken = layout.taken(hexOf(digest));
    if (!(await this.objects.restore(taken, layout.blob(digest)))) return undefined;
    return this.objects.read(layout.blob(digest));
  }

  /** Moves a damaged file to quarantine. If it was repaired since it was read, it goes back and its bytes are returned. */
  private async moveAside(
    path: string,
    name: string,
    isWhole: (bytes: Uint8Array) => boolean,
  ): Promise<Uint8Array | undefined> {
    const aside = layout.aside(`${name}-${randomBytes(4).toString('hex')}`);
    const moved = await this.objects.move(path, aside).catch(() => undefined); // a read-only store keeps it in place
    if (moved === undefined) return undefined;
    const bytes = await this.objects.read(aside);
    if (bytes === undefined || !isWhole(bytes)) return undefined;
    await this.objects.restore(aside, path);
    await this.objects.remove(aside);
    return bytes;
  }
}

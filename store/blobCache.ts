// Copies of artifacts in a local folder, for stores that are far away. Artifacts never change and every read compares the
// digest, so a copy is right or ignored. A fault of the cache is never a fault of the store.
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { cacheFolder } from '../core/base/cacheFolder.js';
import { digestBytes, hexOf } from './canonicalJson.js';
import type { Digest } from './store.js';

const SHARE = 0.1; // old copies are looked for when this share of the limit has been written

export const blobCacheFolder = (): string => join(cacheFolder(process.env, homedir()), 'blobs');

export class BlobCache {
  private unchecked = Number.POSITIVE_INFINITY; // bytes that were written since the size of the folder was last read

  /** @param limit in bytes. Several processes share a folder; each may exceed the limit by a tenth. */
  constructor(
    private readonly folder: string,
    private readonly limit: number,
  ) {}

  async read(digest: Digest): Promise<Uint8Array | undefined> {
    const path = join(this.folder, hexOf(digest));
    return quietly(async () => {
      const bytes = await readFile(path);
      if (digestBytes(bytes) !== digest) return void (await rm(path, { force: true }));
      const now = new Date();
      await utimes(path, now, now);
      return bytes;
    });
  }

  async write(digest: Digest, bytes: Uint8Array): Promise<void> {
    if (bytes.length > this.limit * SHARE) return;
    await quietly(async () => {
      const path = join(this.folder, hexOf(digest));
      const part = `${path}.${randomBytes(4).toString('hex')}`;
      await mkdir(this.folder, { recursive: true });
      await writeFile(part, bytes).catch(async (error: unknown) => {
        await rm(part, { force: true });
        throw error;
      });
      await rename(part, path);
      this.unchecked += bytes.length;
      if (this.unchecked > this.limit * SHARE) await this.shrink();
    });
  }

  /** Removes the least recently read copies. */
  private async shrink(): Promise<void> {
    const names = await readdir(this.folder);
    const files = await Promise.all(
      names.map((name) => quietly(async () => ({ name, ...sizeOf(await stat(join(this.folder, name))) }))),
    );
    const found = files.filter((file) => file !== undefined).sort((a, b) => a.usedAt - b.usedAt);
    let total = found.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { name, bytes } of found) {
      if (total <= this.limit) break;
      await rm(join(this.folder, name), { force: true });
      total -= bytes;
    }
    this.unchecked = 0;
  }
}

const sizeOf = ({ size, mtimeMs }: { size: number; mtimeMs: number }) => ({ bytes: size, usedAt: mtimeMs });

async function quietly<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
}

// The objects of a store as files of a folder. A write leaves the whole file or none, wherever it is killed: temporary file
// → fsync → rename (or link, if the first writer must win) → fsync of the folder. The last use of a file is its
// modification time, which moves with it.
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, lstat, mkdir, open, readdir, realpath, rename, rm, stat, unlink, utimes } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { GauntletError } from '../core/base/errors.js';
import { isAlive } from '../infra/lock.mjs';
import { isHere, PLACE } from '../infra/place.mjs';
import { errnoOf, faultOf } from './checks.js';
import { RUNS } from './layout.js';
import type { Objects, Use } from './objects.js';
import { syncFolder } from './syncFolder.js';

const DAY_MS = 86_400_000;
const ABSENT: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR']);
const READ_ONLY: ReadonlySet<string | undefined> = new Set(['EROFS', 'EACCES', 'EPERM']);

export class FileObjects implements Objects {
  private readonly temporaries: string;
  private readonly known = new Set<string>(); // folders that exist and are synced
  private readonly inside = new Set<string>(); // folders that are inside their base even after links are followed

  constructor(private readonly root: string) {
    this.temporaries = join(root, 'tmp');
  }

  locate(key: string): string {
    return join(this.root, key);
  }

  read(key: string, length?: number): Promise<Uint8Array | undefined> {
    const target = this.locate(key);
    return guard('reading', target, undefined, async () => {
      for (const base of this.basesOf(key)) await this.checkInside(base, dirname(target));
      // without O_NONBLOCK, opening a named pipe would block for ever
      const file = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        const entry = await file.stat();
        if (!entry.isFile() && !entry.isDirectory()) {
          throw new GauntletError('BAD_INPUT', `reading ${target}: is not a regular file`);
        }
        if (length === undefined) return await file.readFile();
        const { buffer, bytesRead } = await file.read(Buffer.alloc(length));
        return buffer.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    });
  }

  use(key: string): Promise<Use | undefined> {
    return guard('looking at', this.locate(key), undefined, () => this.useOf(this.locate(key)));
  }

  /** Changes no time in a read-only store. */
  touch(key: string): Promise<Use | undefined> {
    const target = this.locate(key);
    return guard('touching', target, undefined, async () => {
      for (const base of this.basesOf(key)) await this.checkInside(base, dirname(target));
      const now = new Date();
      try {
        await utimes(target, now, now);
      } catch (error) {
        if (!READ_ONLY.has(errnoOf(error))) throw error;
      }
      return this.useOf(target);
    });
  }

  /** Replaces an existing file. */
  async move(from: string, to: string, durable = true): Promise<Use | undefined> {
    const [source, target] = [this.locate(from), this.locate(to)];
    return guard('moving', source, undefined, async () => {
      await mkdir(dirname(target), { recursive: true });
      await rename(source, target);
      if (durable) for (const folder of [dirname(target), dirname(source)]) await syncFolder(folder);
      return this.useOf(target);
    });
  }

  /** Afterwards both paths name the same file. */
  async restore(from: string, to: string): Promise<boolean> {
    const target = this.locate(to);
    return guard('restoring', target, false, async () => {
      await mkdir(dirname(target), { recursive: true });
      await link(this.locate(from), target).catch((error: unknown) => {
        if (errnoOf(error) !== 'EEXIST') throw error;
      });
      await syncFolder(dirname(target));
      return true;
    });
  }

  async remove(key: string, durable = true): Promise<void> {
    const target = this.locate(key);
    if (isRunKey(key) && !(await this.isInsideAll(key, dirname(target)))) return;
    await guard('removing', target, undefined, async () => {
      await rm(target, { force: true });
      if (durable) await syncFolder(dirname(target));
    });
  }

  /** Lists the files. Skips links. */
  async names(folder: string): Promise<string[]> {
    if (isRunKey(folder) && !(await this.isInsideAll(folder, this.locate(folder)))) return [];
    return this.filesBelow(this.locate(folder));
  }

  async list(folder: string): Promise<(Use & { name: string })[]> {
    const found: (Use & { name: string })[] = [];
    for (const name of await this.names(folder)) {
      const use = await this.use(`${folder}/${name}`);
      if (use !== undefined) found.push({ name, ...use }); // a file may have been removed meanwhile
    }
    return found;
  }

  /** Lists the folders. Includes links to folders inside the store. */
  async folders(folder: string): Promise<string[]> {
    const names: string[] = [];
    for (const entry of await this.entries(this.locate(folder))) {
      const path = join(this.locate(folder), entry.name);
      const isLink = entry.isSymbolicLink() && (await this.isInside(this.root, path).catch(() => false));
      if (entry.isDirectory() || isLink) names.push(entry.name);
    }
    return names;
  }

  async write(key: string, bytes: Uint8Array | string, mode: 'replace' | 'create'): Promise<boolean> {
    const target = this.locate(key);
    const bases = this.basesOf(key);
    if (isRunKey(key)) await this.isInside(this.root, bases.at(-1)!);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.writeOnce(target, bytes, mode, bases.at(-1)!);
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT' || attempt > 1) throw faultOf(error, 'writing', target);
        this.known.clear(); // a folder was removed meanwhile: create it again, once
      }
    }
  }

  /** Removes temporary files of dead processes of this place, and all that are older than a day. */
  async sweepTemporaries(): Promise<void> {
    for (const entry of await this.entries(this.temporaries)) {
      const path = join(this.temporaries, entry.name);
      const [place, pid] = entry.name.split('~');
      const left = isHere(place) && pid !== undefined && !isAlive(Number(pid));
      const age = await guard('looking at', path, 0, async () => Date.now() - (await stat(path)).mtimeMs);
      if (!left && age < DAY_MS) continue;
      await rm(path, { force: true, recursive: true }).catch(() => undefined); // this store may be read-only
    }
  }

  private async writeOnce(
    target: string,
    bytes: Uint8Array | string,
    mode: 'replace' | 'create',
    base: string,
  ): Promise<boolean> {
    const temporary = join(this.temporaries, `${PLACE}~${process.pid}~${randomBytes(8).toString('hex')}`);
    await this.ensureFolder(this.temporaries);
    await this.ensureFolder(dirname(target));
    await this.checkInside(base, dirname(target));
    if (mode === 'create' && (await lstat(target).catch(() => undefined))) return false; // saves a synced write
    try {
      await writeSynced(temporary, bytes);
      if (mode === 'replace') await rename(temporary, target);
      else await link(temporary, target);
    } catch (error) {
      if (mode === 'create' && errnoOf(error) === 'EEXIST') return false;
      throw error;
    } finally {
      await unlink(temporary).catch(() => undefined);
    }
    await syncFolder(dirname(target));
    return true;
  }

  /** The folders that must contain an object even after links are followed: the store, and the folder of its run. */
  private basesOf(key: string): string[] {
    return isRunKey(key) ? [this.root, this.locate(key.split('/').slice(0, 2).join('/'))] : [this.root];
  }

  /** Whether `folder` exists and no link in its path leads out of the store or of its run. @throws BAD_INPUT if one does */
  private async isInsideAll(key: string, folder: string): Promise<boolean> {
    const [root, run] = this.basesOf(key);
    return (await this.isInside(root!, run!)) && this.isInside(run!, folder);
  }

  /** False if `folder` does not exist. @throws BAD_INPUT if a link leads out of `base`. */
  private isInside(base: string, folder: string): Promise<boolean> {
    return guard('reading', folder, false, async () => {
      await this.checkInside(base, folder, false);
      return true;
    });
  }

  /** The size and last use of a file. Undefined if it is no regular file; links are not followed. */
  private async useOf(path: string): Promise<Use | undefined> {
    const entry = await lstat(path);
    return entry.isFile() ? { bytes: entry.size, usedAt: entry.mtimeMs } : undefined;
  }

  private entries(folder: string) {
    return guard('listing', folder, [], () => readdir(folder, { withFileTypes: true }));
  }

  private async filesBelow(folder: string, prefix = ''): Promise<string[]> {
    const found: string[] = [];
    for (const entry of await this.entries(folder)) {
      const path = prefix + entry.name;
      if (entry.isDirectory())
        for (const below of await this.filesBelow(join(folder, entry.name), `${path}/`)) found.push(below);
      else if (entry.isFile()) found.push(path);
    }
    return found;
  }

  /** @throws BAD_INPUT if a link leads out; ENOENT if the folder does not exist, which a cached answer does not show */
  private async checkInside(base: string, folder: string, useCache = true): Promise<void> {
    const key = `${base}\0${folder}`;
    if (useCache && this.inside.has(key)) return;
    const [from, to] = [await realpath(base), await realpath(folder)];
    if (to !== from && !to.startsWith(from + sep))
      throw new GauntletError('BAD_INPUT', `${folder} leads out of ${base}`);
    this.inside.add(key);
  }

  private async ensureFolder(folder: string): Promise<void> {
    if (this.known.has(folder)) return;
    const first = await mkdir(folder, { recursive: true });
    if (first !== undefined) {
      for (let at = folder; ; at = dirname(at)) {
        await syncFolder(at);
        if (at === dirname(first)) break;
      }
    }
    this.known.add(folder);
  }
}

const isRunKey = (key: string): boolean => key.startsWith(`${RUNS}/`);

/** Turns errors of the file system into GauntletErrors, and returns `absent` if the path does not exist. */
async function guard<T>(doing: string, path: string, absent: T, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (ABSENT.has(errnoOf(error))) return absent;
    throw faultOf(error, doing, path);
  }
}

async function writeSynced(path: string, bytes: Uint8Array | string): Promise<void> {
  const file = await open(path, 'wx', 0o644);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

// Writes files atomically, so that a kill at any point leaves the whole file or none: temporary file → fsync → rename
// (or link, if the first writer must win) → fsync of the folder.
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, lstat, mkdir, open, readdir, realpath, rename, rm, stat, unlink, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { GauntletError } from '../core/errors.js';
import { errnoOf, faultOf } from './checks.js';

const DAY_MS = 86_400_000;
const ABSENT: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR']);
const READ_ONLY: ReadonlySet<string | undefined> = new Set(['EROFS', 'EACCES', 'EPERM']);

export class AtomicFiles {
  private readonly known = new Set<string>(); // folders that exist and are synced
  private readonly inside = new Set<string>(); // folders that are inside their base, links followed

  /** @param temporaries a folder on the same file system as every target */
  constructor(private readonly temporaries: string) {}

  /** @param within folders that must contain the target, links followed */
  read(target: string, ...within: string[]): Promise<Uint8Array | undefined> {
    return guard('reading', target, undefined, async () => {
      for (const base of within) await this.checkInside(base, dirname(target));
      // without O_NONBLOCK, opening a named pipe would block for ever
      const file = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        const entry = await file.stat();
        if (!entry.isFile() && !entry.isDirectory()) {
          throw new GauntletError('BAD_INPUT', `reading ${target}: is not a regular file`);
        }
        return await file.readFile();
      } finally {
        await file.close();
      }
    });
  }

  /** Marks a file as used by its modification time, except in a read-only store. False if it does not exist. */
  touch(target: string, within?: string): Promise<boolean> {
    return guard('touching', target, false, async () => {
      if (within !== undefined) await this.checkInside(within, dirname(target));
      const now = new Date();
      try {
        await utimes(target, now, now);
      } catch (error) {
        if (!READ_ONLY.has(errnoOf(error))) throw error;
      }
      return (await stat(target)).isFile();
    });
  }

  /** Undefined if there is no regular file; links are not followed. */
  facts(target: string): Promise<{ bytes: number; usedAt: number } | undefined> {
    return guard('looking at', target, undefined, async () => {
      const entry = await lstat(target);
      return entry.isFile() ? { bytes: entry.size, usedAt: entry.mtimeMs } : undefined;
    });
  }

  /**
   * Replaces an existing file. False if there is nothing to move.
   * @param durable false: after a loss of power the file may be in its old place again
   */
  async move(from: string, to: string, durable = true): Promise<boolean> {
    return guard('moving', from, false, async () => {
      await mkdir(dirname(to), { recursive: true });
      await rename(from, to);
      if (durable) for (const folder of [dirname(to), dirname(from)]) await syncFolder(folder);
      return true;
    });
  }

  /** Links a file to a second path, unless that exists. False if `from` does not exist. */
  async alias(from: string, to: string): Promise<boolean> {
    return guard('restoring', to, false, async () => {
      await mkdir(dirname(to), { recursive: true });
      await link(from, to).catch((error: unknown) => {
        if (errnoOf(error) !== 'EEXIST') throw error;
      });
      await syncFolder(dirname(to));
      return true;
    });
  }

  async remove(target: string, durable = true): Promise<void> {
    await guard('removing', target, undefined, async () => {
      await rm(target, { force: true });
      if (durable) await syncFolder(dirname(target));
    });
  }

  entries(folder: string) {
    return guard('listing', folder, [], () => readdir(folder, { withFileTypes: true }));
  }

  /** Regular files at any depth, as `prefix` and their path in `folder`; links are skipped. */
  async filesBelow(folder: string, prefix = ''): Promise<string[]> {
    const found: string[] = [];
    for (const entry of await this.entries(folder)) {
      const path = prefix + entry.name;
      if (entry.isDirectory()) found.push(...(await this.filesBelow(join(folder, entry.name), `${path}/`)));
      else if (entry.isFile()) found.push(path);
    }
    return found;
  }

  /**
   * False in mode 'create' if the target exists already.
   * @param within a folder that must contain the target, links followed
   */
  async write(
    target: string,
    bytes: Uint8Array | string,
    mode: 'replace' | 'create',
    within?: string,
  ): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.writeOnce(target, bytes, mode, within);
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT' || attempt > 1) throw faultOf(error, 'writing', target);
        this.known.clear(); // a folder was removed meanwhile: create it again, once
      }
    }
  }

  /** False if `folder` does not exist. @throws BAD_INPUT if a link leads out of `base`. */
  isInside(base: string, folder: string): Promise<boolean> {
    return guard('reading', folder, false, async () => {
      await this.checkInside(base, folder, false);
      return true;
    });
  }

  /** Removes temporary files of dead processes of this host, and all that are older than a day. */
  async sweepTemporaries(now: number = Date.now()): Promise<void> {
    for (const entry of await this.entries(this.temporaries)) {
      const path = join(this.temporaries, entry.name);
      const [host, pid] = entry.name.split('~');
      const left = host === hostKey() && pid !== undefined && !isAlive(Number(pid));
      const age = await guard('looking at', path, 0, async () => now - (await stat(path)).mtimeMs);
      if (!left && age < DAY_MS) continue;
      await guard('removing', path, undefined, () => rm(path, { force: true, recursive: true }));
    }
  }

  private async writeOnce(
    target: string,
    bytes: Uint8Array | string,
    mode: 'replace' | 'create',
    within?: string,
  ): Promise<boolean> {
    const temporary = join(this.temporaries, `${hostKey()}~${process.pid}~${randomBytes(8).toString('hex')}`);
    await this.ensureFolder(this.temporaries);
    await this.ensureFolder(dirname(target));
    if (within !== undefined) await this.checkInside(within, dirname(target));
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

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function hostKey(): string {
  return hostname().replace(/[^A-Za-z0-9.-]/g, '-');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === 'EPERM';
  }
}

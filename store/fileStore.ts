// The store on a local file system. A reader sees a file whole or not at all, whatever is killed and whenever:
// temporary file → fsync → rename (or link, where the first writer must win) → fsync of the folder.
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, mkdir, open, readdir, realpath, rename, rm, stat, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { GauntletError } from '../core/errors.js';
import { canonicalJson, digestBytes } from './canonicalJson.js';
import { checkDigest, checkMemoKey, checkRunId, checkRunPath, errnoOf, faultOf } from './checks.js';
import type { Digest, Store } from './store.js';

export const DEFAULT_STORE = '.gauntlet';
const DAY_MS = 86_400_000;

/**
 * Opens (and makes) a store at a folder or a file: URL.
 * @throws GauntletError BAD_CONFIG for another scheme, STORE_FAULT where the folder cannot be made.
 */
export async function openFileStore(place: string = DEFAULT_STORE): Promise<FileStore> {
  const store = new FileStore(folderOf(place));
  await store.sweepTemporaries();
  return store;
}

function folderOf(place: string): string {
  if (place === '') throw new GauntletError('BAD_CONFIG', 'store: give a folder or a file: URL');
  if (!/^[a-z][a-z0-9+.-]+:/i.test(place)) return resolve(place);
  try {
    const url = new URL(place);
    if (url.protocol === 'file:') return fileURLToPath(url);
  } catch {
    throw new GauntletError('BAD_CONFIG', `store: ${place} is not a usable file: URL`);
  }
  throw new GauntletError('BAD_CONFIG', `store: ${place} is not supported; give a folder or a file: URL`);
}

export class FileStore implements Store {
  readonly url: string;
  private readonly known = new Set<string>(); // folders that exist and whose entries are on disk

  constructor(private readonly root: string) {
    this.url = pathToFileURL(root).href;
  }

  async putBlob(bytes: Uint8Array): Promise<Digest> {
    const digest = digestBytes(bytes);
    const path = this.blobPath(digest);
    const present = await this.read(path);
    // A damaged blob is healed by whoever computes its bytes again.
    if (present === undefined || digestBytes(present) !== digest) await this.write(path, bytes, 'replace');
    return digest;
  }

  async getBlob(digest: Digest): Promise<Uint8Array> {
    checkDigest(digest);
    const path = this.blobPath(digest);
    const bytes = await this.read(path);
    if (bytes === undefined) throw new GauntletError('NOT_FOUND', `no artifact ${digest} in ${this.root}`);
    if (digestBytes(bytes) !== digest) {
      throw new GauntletError('CORRUPT_ARTIFACT', `artifact ${digest} is damaged at ${path}`);
    }
    return bytes;
  }

  async hasBlob(digest: Digest): Promise<boolean> {
    checkDigest(digest);
    return this.guard('looking for', this.blobPath(digest), async (path) => {
      try {
        return (await stat(path)).isFile();
      } catch (error) {
        if (errnoOf(error) === 'ENOENT') return false;
        throw error;
      }
    });
  }

  putJson(value: unknown): Promise<Digest> {
    return this.putBlob(Buffer.from(canonicalJson(value), 'utf8'));
  }

  async getJson<T = unknown>(digest: Digest): Promise<T> {
    const text = Buffer.from(await this.getBlob(digest)).toString('utf8');
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new GauntletError('BAD_INPUT', `artifact ${digest} is not JSON`);
    }
  }

  async putMemo(key: string, digest: Digest): Promise<Digest> {
    checkDigest(digest);
    const path = this.memoPath(key);
    if (await this.write(path, `${digest} ${memoSeal(key, digest)}\n`, 'create')) return digest;
    return (await this.getMemo(key)) ?? this.putMemo(key, digest);
  }

  async getMemo(key: string): Promise<Digest | undefined> {
    const path = this.memoPath(key);
    const bytes = await this.read(path);
    if (bytes === undefined) return undefined;
    const text = Buffer.from(bytes).toString('utf8');
    const digest = text.split(' ')[0]!;
    if (text !== `${digest} ${memoSeal(key, digest)}\n`) {
      throw new GauntletError('CORRUPT_ARTIFACT', `memo ${key} is damaged at ${path}`);
    }
    return digest;
  }

  async writeRunFile(runId: string, path: string, bytes: Uint8Array | string): Promise<void> {
    await this.write(this.runPath(runId, path), bytes, 'replace', this.runPath(runId));
  }

  async createRunFile(runId: string, path: string, bytes: Uint8Array | string): Promise<boolean> {
    return this.write(this.runPath(runId, path), bytes, 'create', this.runPath(runId));
  }

  async readRunFile(runId: string, path: string): Promise<Uint8Array | undefined> {
    const target = this.runPath(runId, path);
    if (!(await this.insideRun(runId, dirname(target)))) return undefined;
    return this.read(target);
  }

  async removeRunFile(runId: string, path: string): Promise<void> {
    const target = this.runPath(runId, path);
    if (!(await this.insideRun(runId, dirname(target)))) return;
    await this.guard('removing', target, async () => {
      await rm(target, { force: true });
      await syncFolder(dirname(target));
    });
  }

  async listRunFiles(runId: string, folder: string): Promise<string[]> {
    const base = folder === '' ? this.runPath(runId) : this.runPath(runId, folder);
    if (!(await this.insideRun(runId, base))) return [];
    const found: string[] = [];
    const walk = async (absolute: string, relative: string): Promise<void> => {
      for (const entry of await this.entries(absolute)) {
        const path = relative === '' ? entry.name : `${relative}/${entry.name}`;
        if (entry.isDirectory()) await walk(join(absolute, entry.name), path);
        else if (entry.isFile()) found.push(path);
      }
    };
    await walk(base, folder);
    return found.sort();
  }

  async listRuns(): Promise<string[]> {
    const entries = await this.entries(join(this.root, 'runs'));
    return entries
      .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
      .map((entry) => entry.name)
      .sort();
  }

  /** Removes what killed writers left behind: files of dead processes of this host, and any older than a day. */
  async sweepTemporaries(now: number = Date.now()): Promise<number> {
    const folder = join(this.root, 'tmp');
    let removed = 0;
    for (const entry of await this.entries(folder)) {
      const path = join(folder, entry.name);
      const [host, pid] = entry.name.split('~');
      const left = host === hostKey() && pid !== undefined && !isAlive(Number(pid));
      const age = await stat(path).then(
        (info) => now - info.mtimeMs,
        () => 0,
      );
      if (!left && age < DAY_MS) continue;
      await this.guard('removing', path, () => rm(path, { force: true, recursive: true }));
      removed++;
    }
    return removed;
  }

  private blobPath(digest: Digest): string {
    const hex = digest.slice('sha256:'.length);
    return join(this.root, 'blobs', 'sha256', hex.slice(0, 2), hex.slice(2));
  }

  private memoPath(key: string): string {
    checkMemoKey(key);
    return join(this.root, 'memo', key);
  }

  private runPath(runId: string, path?: string): string {
    checkRunId(runId);
    if (path !== undefined) checkRunPath(path);
    return join(this.root, 'runs', runId, ...(path === undefined ? [] : path.split('/')));
  }

  private async read(target: string): Promise<Uint8Array | undefined> {
    return this.guard('reading', target, async () => {
      try {
        const file = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW);
        try {
          return await file.readFile();
        } finally {
          await file.close();
        }
      } catch (error) {
        if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined;
        throw error;
      }
    });
  }

  /** True where `target` now holds `bytes`; false in mode 'create' where it existed before. */
  private async write(
    target: string,
    bytes: Uint8Array | string,
    mode: 'replace' | 'create',
    within?: string,
  ): Promise<boolean> {
    return this.guard('writing', target, async () => {
      const temporary = join(this.root, 'tmp', `${hostKey()}~${process.pid}~${randomBytes(8).toString('hex')}`);
      await this.ensureFolder(dirname(temporary));
      await this.ensureFolder(dirname(target));
      if (within !== undefined) await checkInside(within, dirname(target));
      try {
        await writeSynced(temporary, bytes);
        if (mode === 'replace') await rename(temporary, target);
        else await link(temporary, target);
      } catch (error) {
        if (mode === 'create' && errnoOf(error) === 'EEXIST') return false;
        if (errnoOf(error) === 'ENOENT') this.known.clear(); // a folder was removed: the retry makes it again
        throw error;
      } finally {
        await unlink(temporary).catch(() => undefined);
      }
      await syncFolder(dirname(target));
      return true;
    });
  }

  private async ensureFolder(folder: string): Promise<void> {
    if (this.known.has(folder)) return;
    const first = await mkdir(folder, { recursive: true });
    if (first !== undefined) {
      const stop = dirname(first);
      for (let at = folder; ; at = dirname(at)) {
        await syncFolder(at);
        if (at === stop) break;
      }
    }
    this.known.add(folder);
  }

  /** False where the folder is not there. @throws BAD_INPUT where a link leads out of the run. */
  private async insideRun(runId: string, folder: string): Promise<boolean> {
    const base = this.runPath(runId);
    return this.guard('reading', folder, async () => {
      try {
        await checkInside(base, folder);
        return true;
      } catch (error) {
        if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return false;
        throw error;
      }
    });
  }

  private async entries(folder: string) {
    return this.guard('listing', folder, async () => {
      try {
        return await readdir(folder, { withFileTypes: true });
      } catch (error) {
        if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return [];
        throw error;
      }
    });
  }

  /** The boundary: what the file system throws leaves here as a coded error. */
  private async guard<T>(doing: string, path: string, work: (path: string) => Promise<T>): Promise<T> {
    try {
      return await work(path);
    } catch (error) {
      throw faultOf(error, doing, path);
    }
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

async function checkInside(base: string, folder: string): Promise<void> {
  const [from, to] = [await realpath(base), await realpath(folder)];
  if (to !== from && !to.startsWith(from + sep)) {
    throw new GauntletError('BAD_INPUT', `${folder} leads out of its run`);
  }
}

/** Ties a memo to its key, so that a flipped bit or a file moved to another key is seen. */
function memoSeal(key: string, digest: Digest): string {
  return digestBytes(`memo ${key} ${digest}`).slice(7, 23);
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

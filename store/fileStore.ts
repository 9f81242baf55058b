// The store on a local file system: which file holds what, and what is checked when it is read. How files come to
// be there whole or not at all is atomicFiles.ts.
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { GauntletError } from '../core/errors.js';
import { AtomicFiles } from './atomicFiles.js';
import { canonicalJson, digestBytes } from './canonicalJson.js';
import { checkDigest, checkMemoKey, checkRunId, checkRunPath } from './checks.js';
import type { Digest, Store } from './store.js';

export const DEFAULT_STORE = '.gauntlet';

/**
 * Opens (and makes) a store at a folder or a file: URL.
 * @throws GauntletError BAD_CONFIG for another scheme, STORE_FAULT where the folder cannot be made.
 */
export async function openFileStore(place: string = DEFAULT_STORE): Promise<FileStore> {
  const root = folderOf(place);
  const files = new AtomicFiles(join(root, 'tmp'));
  await files.sweepTemporaries();
  return new FileStore(root, files);
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

  constructor(
    private readonly root: string,
    private readonly files: AtomicFiles,
  ) {
    this.url = pathToFileURL(root).href;
  }

  async putBlob(bytes: Uint8Array): Promise<Digest> {
    const digest = digestBytes(bytes);
    const path = this.blobPath(digest);
    const present = await this.files.read(path);
    // A damaged blob is healed by whoever computes its bytes again.
    if (present === undefined || digestBytes(present) !== digest) await this.files.write(path, bytes, 'replace');
    return digest;
  }

  async getBlob(digest: Digest): Promise<Uint8Array> {
    checkDigest(digest);
    const path = this.blobPath(digest);
    const bytes = await this.files.read(path);
    if (bytes === undefined) throw new GauntletError('NOT_FOUND', `no artifact ${digest} in ${this.root}`);
    if (digestBytes(bytes) !== digest) {
      throw new GauntletError('CORRUPT_ARTIFACT', `artifact ${digest} is damaged at ${path}`);
    }
    return bytes;
  }

  async hasBlob(digest: Digest): Promise<boolean> {
    checkDigest(digest);
    return this.files.has(this.blobPath(digest));
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
    if (await this.files.write(path, `${digest} ${memoSeal(key, digest)}\n`, 'create')) return digest;
    return (await this.getMemo(key)) ?? this.putMemo(key, digest);
  }

  async getMemo(key: string): Promise<Digest | undefined> {
    const path = this.memoPath(key);
    const bytes = await this.files.read(path);
    if (bytes === undefined) return undefined;
    const text = Buffer.from(bytes).toString('utf8');
    const digest = text.split(' ')[0]!;
    if (text !== `${digest} ${memoSeal(key, digest)}\n`) {
      throw new GauntletError('CORRUPT_ARTIFACT', `memo ${key} is damaged at ${path}`);
    }
    return digest;
  }

  async writeRunFile(runId: string, path: string, bytes: Uint8Array | string): Promise<void> {
    await this.files.write(this.runPath(runId, path), bytes, 'replace', this.runPath(runId));
  }

  async createRunFile(runId: string, path: string, bytes: Uint8Array | string): Promise<boolean> {
    return this.files.write(this.runPath(runId, path), bytes, 'create', this.runPath(runId));
  }

  async readRunFile(runId: string, path: string): Promise<Uint8Array | undefined> {
    const target = this.runPath(runId, path);
    if (!(await this.insideRun(runId, dirname(target)))) return undefined;
    return this.files.read(target);
  }

  async removeRunFile(runId: string, path: string): Promise<void> {
    const target = this.runPath(runId, path);
    if (!(await this.insideRun(runId, dirname(target)))) return;
    await this.files.remove(target);
  }

  async listRunFiles(runId: string, folder: string): Promise<string[]> {
    const base = folder === '' ? this.runPath(runId) : this.runPath(runId, folder);
    if (!(await this.insideRun(runId, base))) return [];
    return (await this.files.filesBelow(base)).map((path) => (folder === '' ? path : `${folder}/${path}`)).sort();
  }

  async listRuns(): Promise<string[]> {
    const entries = await this.files.entries(join(this.root, 'runs'));
    return entries
      .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
      .map((entry) => entry.name)
      .sort();
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

  /** False where the folder is not there. @throws BAD_INPUT where a link leads out of the run. */
  private insideRun(runId: string, folder: string): Promise<boolean> {
    return this.files.isInside(this.runPath(runId), folder);
  }
}

/** Ties a memo to its key, so that a flipped bit or a file moved to another key is seen. */
function memoSeal(key: string, digest: Digest): string {
  return digestBytes(`memo ${key} ${digest}`).slice(7, 23);
}

// The store on a local file system: which file holds what, and what is checked when it is read. atomicFiles.ts writes and
// moves the files.
import { randomBytes } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { GauntletError } from '../core/errors.js';
import { AtomicFiles } from './atomicFiles.js';
import { canonicalJson, digestBytes } from './canonicalJson.js';
import { checkDigest } from './checks.js';
import { hexOf, Layout, MEMO, memoText, parseMemo, RUNS } from './layout.js';
import type { Digest, MemoKind, Store } from './store.js';

export const DEFAULT_STORE = '.gauntlet';
const HASHED_BYTES = 2 ** 20; // hasBlob hashes blobs up to this size, which takes a millisecond or two

/**
 * Opens a store at a folder or a file: URL; its folder is created by the first write.
 * @throws GauntletError BAD_CONFIG for another scheme, STORE_FAULT if the folder cannot be read.
 */
export async function openFileStore(place: string = DEFAULT_STORE): Promise<FileStore> {
  const root = resolve(storeFolder(place));
  const files = new AtomicFiles(join(root, 'tmp'));
  await files.sweepTemporaries();
  return new FileStore(root, files);
}

/** The folder that a path or a file: URL means. @throws GauntletError BAD_CONFIG for anything else. */
export function storeFolder(place: string): string {
  if (place === '') throw new GauntletError('BAD_CONFIG', 'store: give a folder or a file: URL');
  if (!/^[a-z][a-z0-9+.-]+:/i.test(place)) return place;
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
  readonly layout: Layout;

  constructor(
    readonly root: string,
    readonly files: AtomicFiles,
  ) {
    this.url = pathToFileURL(root).href;
    this.layout = new Layout(root);
  }

  async putBlob(bytes: Uint8Array): Promise<Digest> {
    const digest = digestBytes(bytes);
    const path = this.layout.blob(digest);
    const present = await this.files.read(path, this.root);
    // replaces a damaged blob, and one that a sweep takes meanwhile
    const isWhole =
      present !== undefined && digestBytes(present) === digest && (await this.files.touch(path, this.root));
    if (!isWhole) await this.files.write(path, bytes, 'replace', this.root);
    return digest;
  }

  async getBlob(digest: Digest): Promise<Uint8Array> {
    checkDigest(digest);
    const path = this.layout.blob(digest);
    const bytes = (await this.files.read(path, this.root)) ?? (await this.untake(digest));
    if (bytes === undefined) {
      throw new GauntletError('NOT_FOUND', `no artifact ${digest} in ${this.root}`, { artifact: digest });
    }
    if (digestBytes(bytes) === digest) return bytes;
    const healed = await this.moveAside(path, hexOf(digest), (now) => digestBytes(now) === digest);
    if (healed !== undefined) return healed;
    const what = `artifact ${digest} was damaged at ${path} and is moved to quarantine`;
    throw new GauntletError('CORRUPT_ARTIFACT', what, { artifact: digest });
  }

  async hasBlob(digest: Digest): Promise<boolean> {
    checkDigest(digest);
    const path = this.layout.blob(digest);
    const there = await this.files.touch(path, this.root);
    if (!there && !((await this.untake(digest)) && (await this.files.touch(path, this.root)))) return false;
    const facts = await this.files.facts(path);
    if (facts === undefined || facts.bytes > HASHED_BYTES) return facts !== undefined;
    const bytes = await this.files.read(path, this.root);
    if (bytes === undefined || digestBytes(bytes) === digest) return bytes !== undefined;
    return (await this.moveAside(path, hexOf(digest), (now) => digestBytes(now) === digest)) !== undefined;
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

  async putMemo(key: string, digest: Digest, kind: MemoKind = 'plain'): Promise<Digest> {
    checkDigest(digest);
    const path = this.layout.memo(key);
    if (await this.files.write(path, memoText(key, digest, kind), 'create', this.root)) return digest;
    return (await this.getMemo(key)) ?? this.putMemo(key, digest, kind);
  }

  async getMemo(key: string): Promise<Digest | undefined> {
    const path = this.layout.memo(key);
    const bytes = await this.files.read(path, this.root);
    if (bytes === undefined) return undefined;
    const row = parseMemo(key, bytes);
    if (row === undefined) {
      await this.moveAside(path, `memo-${key}`, (now) => parseMemo(key, now) !== undefined);
      throw new GauntletError('CORRUPT_ARTIFACT', `memo ${key} was damaged at ${path} and is moved to quarantine`);
    }
    await this.files.touch(path, this.root);
    return row.digest;
  }

  async memoKeys(): Promise<string[]> {
    return (await this.files.filesBelow(join(this.root, MEMO))).sort();
  }

  async writeRunFile(runId: string, path: string, bytes: Uint8Array | string): Promise<void> {
    await this.hasRun(runId);
    await this.files.write(this.layout.run(runId, path), bytes, 'replace', this.layout.run(runId));
  }

  async createRunFile(runId: string, path: string, bytes: Uint8Array | string): Promise<boolean> {
    await this.hasRun(runId);
    return this.files.write(this.layout.run(runId, path), bytes, 'create', this.layout.run(runId));
  }

  async readRunFile(runId: string, path: string): Promise<Uint8Array | undefined> {
    return this.files.read(this.layout.run(runId, path), this.root, this.layout.run(runId));
  }

  async removeRunFile(runId: string, path: string): Promise<void> {
    const target = this.layout.run(runId, path);
    if (!(await this.insideRun(runId, dirname(target)))) return;
    await this.files.remove(target);
  }

  async listRunFiles(runId: string, folder: string): Promise<string[]> {
    const base = this.layout.run(runId, folder || undefined);
    if (!(await this.insideRun(runId, base))) return [];
    return (await this.files.filesBelow(base, folder && `${folder}/`)).sort();
  }

  async listRuns(): Promise<string[]> {
    const runs: string[] = [];
    for (const entry of await this.files.entries(join(this.root, RUNS))) {
      const isLink = entry.isSymbolicLink() && (await this.hasRun(entry.name).catch(() => false));
      if (entry.isDirectory() || isLink) runs.push(entry.name);
    }
    return runs.sort();
  }

  /** Whether the folder of a run exists. @throws BAD_INPUT if it is a link out of the store. */
  private async hasRun(runId: string): Promise<boolean> {
    return this.files.isInside(this.root, this.layout.run(runId));
  }

  /** Whether a folder of a run exists. @throws BAD_INPUT if a link leads out of the run. */
  private async insideRun(runId: string, folder: string): Promise<boolean> {
    return (await this.hasRun(runId)) && this.files.isInside(this.layout.run(runId), folder);
  }

  /** Restores a blob that a sweep has taken and not yet removed (store/sweep.ts). */
  private async untake(digest: Digest): Promise<Uint8Array | undefined> {
    const taken = this.layout.taken(hexOf(digest));
    if (!(await this.files.alias(taken, this.layout.blob(digest)))) return undefined;
    return this.files.read(this.layout.blob(digest), this.root);
  }

  /** Moves a damaged file to quarantine. If it was repaired since it was read, it goes back and its bytes are returned. */
  private async moveAside(
    path: string,
    name: string,
    isWhole: (bytes: Uint8Array) => boolean,
  ): Promise<Uint8Array | undefined> {
    const aside = this.layout.aside(`${name}-${randomBytes(4).toString('hex')}`);
    const moved = await this.files.move(path, aside).catch(() => false); // a read-only store keeps it in place
    if (!moved) return undefined;
    const bytes = await this.files.read(aside);
    if (bytes === undefined || !isWhole(bytes)) return undefined;
    await this.files.alias(aside, path);
    await this.files.remove(aside);
    return bytes;
  }
}

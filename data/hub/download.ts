// Downloads files of a model or data set into the cache of the Hugging Face hub, in the layout of the hub's tools: blobs by digest,
// and for each commit a folder of links. A file is renamed to its digest after its content was checked, and a commit is
// complete only when all files are there. So an interruption, or several processes at once, leave nothing half done.
import { createHash, type Hash } from 'node:crypto';
import { constants, createReadStream, existsSync } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm, stat, statfs, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HubApiError } from '@huggingface/hub';
import { GauntletError } from '../../core/base/errors.js';
import { isAlive } from '../../infra/lock.mjs';
import { isHere, PLACE } from '../../infra/place.mjs';
import { proxiedFetch, proxyFor, refusalOfProxy, throughProxy } from '../../infra/proxy.js';
import { hubAddress, hubCache } from './environment.js';
import { authorization, type HubFile, InvalidAnswer, listModel } from './listing.js';
import { type Pace, watchPace } from './pace.js';

export interface DownloadProgress {
  file: string;
  done: number; // bytes of all files so far
  total: number; // bytes of all files
}

const ATTEMPTS = 4; // the most attempts to transfer a file
const RETRY_MS = 500; // doubles with each attempt
const ABANDONED_MS = 600_000; // a process on another machine counts as ended after this time without a write
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

const running = new Map<string, Promise<unknown>>(); // the latest download of each repository, which the next one waits for

/** A model or a data set, and how messages name it and the way out. */
export interface Repository {
  kind: 'model' | 'dataset';
  id: string;
}

export const cacheFolder = ({ kind, id }: Repository): string => join(hubCache(), `${kind}s--${id.replace('/', '--')}`);

const WORDS = {
  model: { code: 'BAD_MODEL', name: 'model', instead: 'or name a folder with --model' },
  dataset: { code: 'BAD_INPUT', name: 'data set', instead: 'or name a file with --problems' },
} as const;

/** @returns the folder of the commit. @throws GauntletError BAD_MODEL, or HUB_FAULT if a retry may help */
export async function downloadModel(
  id: string,
  revision: string,
  onProgress: (progress: DownloadProgress) => void = () => undefined,
): Promise<string> {
  const repository: Repository = { kind: 'model', id };
  return inTurn(repository, async () => {
    try {
      const { commit, files } = await listModel(hubAddress(), id, revision);
      return await fetchFiles(repository, { revision, commit, files }, onProgress);
    } catch (error) {
      throw asFault(error, repository, revision === 'main' ? id : `${id}@${revision}`);
    }
  });
}

/** One download of a repository at a time in this process. */
export async function inTurn<T>({ kind, id }: Repository, work: () => Promise<T>): Promise<T> {
  const key = `${kind} ${id}`;
  const own = (running.get(key) ?? Promise.resolve()).catch(() => undefined).then(work);
  running.set(key, own);
  try {
    return await own;
  } finally {
    if (running.get(key) === own) running.delete(key);
  }
}

/** @returns the folder of the commit. @throws an error that asFault converts */
export async function fetchFiles(
  repository: Repository,
  { revision, commit, files }: { revision: string; commit: string; files: readonly HubFile[] },
  onProgress: (progress: DownloadProgress) => void = () => undefined,
): Promise<string> {
  const { kind, id } = repository;
  const folder = cacheFolder(repository);
  const [blobs, snapshot] = [join(folder, 'blobs'), join(folder, 'snapshots', commit)];
  for (const path of [blobs, snapshot, dirname(join(folder, 'refs', revision))]) await makeFolder(repository, path);
  const missing = files.filter(({ digest }) => !existsSync(join(blobs, digest)));
  const total = missing.reduce((sum, { size }) => sum + size, 0);
  await checkSpace(repository, blobs, total);
  const address = `${hubAddress()}/${kind === 'dataset' ? 'datasets/' : ''}${id}/resolve/${commit}`;
  let finished = 0;
  for (const file of missing) {
    const report = (bytes: number): void => onProgress({ file: file.name, done: finished + bytes, total });
    await fetchBlob(`${address}/${file.name}`, file, blobs, report);
    finished += file.size;
  }
  for (const { name, digest } of files) {
    const path = join(snapshot, name);
    await makeFolder(repository, dirname(path));
    await link(relative(dirname(path), join(blobs, digest)), path);
  }
  if (revision !== commit) {
    await replace(join(folder, 'refs', revision), (temporary) => writeFile(temporary, commit, { flag: 'wx' }));
  }
  return snapshot;
}

/** Makes a folder of a repository. No link in it is followed: whoever else can write to the cache chooses where it leads. */
export async function makeFolder(repository: Repository, path: string): Promise<void> {
  let folder = cacheFolder(repository);
  await mkdir(folder, { recursive: true });
  for (const name of relative(folder, path).split(sep)) {
    folder = join(folder, name);
    await mkdir(folder, { recursive: true });
    if ((await lstat(folder)).isDirectory()) continue;
    throw new GauntletError(WORDS[repository.kind].code, `${folder}: not a folder; remove it from the cache`);
  }
}

async function checkSpace({ kind, id }: Repository, folder: string, needed: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (needed <= bavail * bsize) return;
  const gb = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
  const why = `needs ${gb(needed)}, but ${gb(bavail * bsize)} are free in ${hubCache()}`;
  throw new GauntletError(WORDS[kind].code, `${id}: ${why}; set HF_HUB_CACHE to another disk`);
}

/** Downloads one file. Continues a download that an earlier process left unfinished. */
async function fetchBlob(url: string, file: HubFile, blobs: string, report: (bytes: number) => void): Promise<void> {
  const partial = await claimPartial(blobs, file.digest);
  for (let attempt = 1; ; attempt++) {
    try {
      await transfer(url, file, partial, report);
      break;
    } catch (error) {
      if (attempt === ATTEMPTS || !isOfNetwork(error)) throw error;
      await sleep(RETRY_MS * 2 ** attempt);
    }
  }
  await rename(partial, join(blobs, file.digest));
}

/** The content differs from what the hub listed, so continuing the download is useless. */
class WrongContent extends InvalidAnswer {}

/** Downloads the rest of the file, and then checks the whole file. */
async function transfer(url: string, file: HubFile, partial: string, report: (bytes: number) => void): Promise<void> {
  const { name, size, digest } = file;
  const handle = await open(partial, APPEND);
  let pace: Pace | undefined;
  try {
    let done = (await handle.stat()).size;
    if (done > size) {
      await handle.truncate(0);
      done = 0;
    }
    let hash = await hashOf(partial, file);
    if (done < size) {
      const headers = new Headers(authorization());
      if (done > 0) headers.set('range', `bytes=${done}-`);
      pace = watchPace();
      const response = await proxiedFetch(url, { headers, signal: pace.signal });
      if (!response.ok) throw new HubApiError(url, response.status);
      const continues = response.headers.get('content-range')?.startsWith(`bytes ${done}-`) === true;
      if (done > 0 && !(response.status === 206 && continues)) {
        await handle.truncate(0);
        [done, hash] = [0, startHash(file)];
      }
      for await (const chunk of response.body ?? []) {
        done += chunk.length;
        pace.count(chunk.length);
        if (done > size) throw new WrongContent(`${name} is longer than listed`);
        await handle.appendFile(chunk);
        hash.update(chunk);
        report(done);
      }
      if (done < size) throw new TypeError('terminated');
    }
    const actual = hash.digest('hex');
    if (actual === digest) return await handle.sync();
    throw new WrongContent(`${name} has digest ${actual}, the hub lists ${digest}`);
  } catch (error) {
    if (error instanceof WrongContent) await rm(partial);
    throw error;
  } finally {
    pace?.end();
    await handle.close();
  }
}

/** Git hashes a header with the size before the content. */
const startHash = ({ size, digest }: HubFile): Hash =>
  digest.length === 64 ? createHash('sha256') : createHash('sha1').update(`blob ${size}\0`);

async function hashOf(path: string, file: HubFile): Promise<Hash> {
  const hash = startHash(file);
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash;
}

/**
 * The file that this process writes. The process takes over the file of a process that has ended; if several processes try this,
 * one gets the file, because renaming is atomic. Processes that run at the same time each write their own file.
 */
async function claimPartial(blobs: string, digest: string): Promise<string> {
  const own = join(blobs, `${digest}.${PLACE}.${process.pid}.incomplete`);
  for (const name of await readdir(blobs)) {
    const path = join(blobs, name);
    if (name.startsWith(`${digest}.`) && path !== own && (await isAbandoned(path)))
      await rename(path, own).catch(() => undefined); // another process was faster
  }
  const found = await lstat(own).catch(() => undefined);
  if (found && !(found.isFile() && found.nlink === 1)) await rm(own); // a link would lead to another file
  return own;
}

async function isAbandoned(path: string): Promise<boolean> {
  const [, place, pid] = /^[0-9a-f]+\.(.+)\.(\d+)\.incomplete$/.exec(basename(path)) ?? [];
  if (place === undefined) return false;
  if (isHere(place)) return !isAlive(Number(pid));
  return Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? 0) > ABANDONED_MS;
}

const link = (target: string, path: string): Promise<void> => replace(path, (temporary) => symlink(target, temporary));

export async function replace(path: string, make: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  await rm(temporary, { force: true });
  await make(temporary);
  await rename(temporary, path);
}

export const offline = (kind: Repository['kind'], id: string): GauntletError => {
  const why = `not in the Hugging Face cache ${hubCache()}, and HF_HUB_OFFLINE forbids downloads; unset it, ${WORDS[kind].instead}`;
  return new GauntletError(WORDS[kind].code, `${id}: ${why}`);
};

/** The error for the user: it names what was looked up, where, and what to do. It repeats nothing that the hub wrote. */
export function asFault(error: unknown, { kind }: Repository, model: string): GauntletError {
  if (error instanceof GauntletError) return error;
  const { code: refusal, name, instead } = WORDS[kind];
  const hub = hubAddress();
  const { code, cause, syscall } = error as NodeJS.ErrnoException & { cause?: { code?: string } };
  const absent = `${model}: not in the Hugging Face cache ${hubCache()}, and`;
  if (error instanceof HubApiError) {
    const { statusCode: status } = error;
    if (status === 401 || status === 403) {
      const reason = `${hub} answers ${status}: the ${name} is gated, private or does not exist`;
      return new GauntletError(refusal, `${model}: ${reason}; ask for access there and set HF_TOKEN, ${instead}`);
    }
    if (status === 404) return new GauntletError(refusal, `${absent} ${hub} has no such ${name} or revision`);
    return new GauntletError('HUB_FAULT', `${absent} ${hub} answers ${status}`);
  }
  if (syscall !== undefined && code !== undefined && isOfDisk(error as NodeJS.ErrnoException)) {
    return new GauntletError('HUB_FAULT', `${model}: cannot be written to ${hubCache()} (${code})`);
  }
  if (isOfNetwork(error)) {
    const why = refusalOfProxy(error) ?? (cause?.code || 'the connection ended');
    const reason = `${hub} cannot be reached${throughProxy(proxyFor(hub))} (${why})`;
    return new GauntletError('HUB_FAULT', `${absent} ${reason}; set HF_ENDPOINT to an address that can be, ${instead}`);
  }
  const detail = error instanceof InvalidAnswer ? `: ${error.message}` : '';
  return new GauntletError('HUB_FAULT', `${model}: ${hub} sent an invalid answer${detail}`);
}

/** Whether a connection failed or ended, as fetch reports it. */
const isOfNetwork = (error: unknown): boolean =>
  error instanceof TypeError && /^(fetch failed|terminated)$/.test(error.message);

/** Whether the disk failed. Errors of open files have no path. */
const isOfDisk = ({ path, code = '' }: NodeJS.ErrnoException): boolean =>
  path !== undefined || ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EROFS'].includes(code);

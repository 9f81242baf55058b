// Downloads the files of a model into the cache of the Hugging Face hub, whose layout its own tools share: blobs by digest,
// and for each commit a folder of links. A file is renamed to its digest after its content was checked, and a commit is
// complete only when all files are there. So an interruption, or several processes at once, leave nothing half done.
import { createHash, type Hash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, statfs, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HubApiError } from '@huggingface/hub';
import { GauntletError } from '../../core/errors.js';
import { isAlive } from '../../infra/lock.mjs';
import { isHere, PLACE } from '../../infra/place.mjs';
import { proxiedFetch, proxyFor, refusalOfProxy, throughProxy } from '../../infra/proxy.js';
import { hubAddress, hubCache } from './environment.js';
import { authorization, type HubFile, InvalidAnswer, listModel } from './listing.js';
import { type Pace, watchPace } from './pace.js';

export interface DownloadProgress {
  file: string;
  done: number; // bytes of all files
  total: number;
}

const ATTEMPTS = 4; // to continue a file whose transfer broke off
const RETRY_MS = 500; // doubles
const ABANDONED_MS = 600_000; // without a write by a process elsewhere

const running = new Map<string, Promise<unknown>>(); // by repository: one download at a time in this process

/** @returns the folder of the commit. @throws GauntletError BAD_MODEL, or HUB_FAULT if a retry may help */
export async function downloadModel(
  id: string,
  revision: string,
  onProgress: (progress: DownloadProgress) => void = () => undefined,
): Promise<string> {
  const earlier = running.get(id) ?? Promise.resolve();
  const own = earlier.catch(() => undefined).then(() => download(id, revision, onProgress));
  running.set(id, own);
  try {
    return await own;
  } finally {
    if (running.get(id) === own) running.delete(id);
  }
}

async function download(
  id: string,
  revision: string,
  onProgress: (progress: DownloadProgress) => void,
): Promise<string> {
  const hub = hubAddress();
  try {
    const { commit, files } = await listModel(hub, id, revision);
    const folder = join(hubCache(), `models--${id.replace('/', '--')}`);
    const [blobs, snapshot] = [join(folder, 'blobs'), join(folder, 'snapshots', commit)];
    for (const path of [blobs, snapshot, join(folder, 'refs')]) await mkdir(path, { recursive: true });
    const missing = files.filter(({ digest }) => !existsSync(join(blobs, digest)));
    const total = missing.reduce((sum, { size }) => sum + size, 0);
    await checkSpace(id, blobs, total);
    let finished = 0;
    for (const file of missing) {
      const report = (bytes: number): void => onProgress({ file: file.name, done: finished + bytes, total });
      await fetchBlob(`${hub}/${id}/resolve/${commit}/${file.name}`, file, blobs, report);
      finished += file.size;
    }
    for (const { name, digest } of files) await link(join('..', '..', 'blobs', digest), join(snapshot, name));
    if (revision !== commit) {
      await replace(join(folder, 'refs', revision), (temporary) => writeFile(temporary, commit));
    }
    return snapshot;
  } catch (error) {
    throw asFault(error, `${id}${revision === 'main' ? '' : `@${revision}`}`, hub);
  }
}

async function checkSpace(id: string, folder: string, needed: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (needed <= bavail * bsize) return;
  const gb = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
  const free = `${gb(bavail * bsize)} are free in ${hubCache()}`;
  throw new GauntletError('BAD_MODEL', `${id}: needs ${gb(needed)}, but ${free}; set HF_HUB_CACHE to another disk`);
}

/** Downloads one file, continuing what an earlier process left. */
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

/** The file is not the one that the hub listed, so continuing it is useless. */
class WrongContent extends InvalidAnswer {}

/** Appends the rest of the file and checks the whole. */
async function transfer(url: string, file: HubFile, partial: string, report: (bytes: number) => void): Promise<void> {
  const { name, size, digest } = file;
  const handle = await open(partial, 'a');
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
 * The file that this process writes. It takes over the file of a process that has ended; of several claimants one gets
 * it, because renaming is atomic. Processes that run at the same time each write their own file.
 */
async function claimPartial(blobs: string, digest: string): Promise<string> {
  const own = join(blobs, `${digest}.${PLACE}.${process.pid}.incomplete`);
  for (const name of await readdir(blobs)) {
    const path = join(blobs, name);
    if (name.startsWith(`${digest}.`) && path !== own && (await isAbandoned(path)))
      await rename(path, own).catch(() => undefined); // another process was faster
  }
  return own;
}

async function isAbandoned(path: string): Promise<boolean> {
  const [, place, pid] = /^[0-9a-f]+\.(.+)\.(\d+)\.incomplete$/.exec(basename(path)) ?? [];
  if (place === undefined) return false;
  if (isHere(place)) return !isAlive(Number(pid));
  return Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? 0) > ABANDONED_MS;
}

const link = (target: string, path: string): Promise<void> => replace(path, (temporary) => symlink(target, temporary));

async function replace(path: string, make: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  await rm(temporary, { force: true });
  await make(temporary);
  await rename(temporary, path);
}

/** One line that names what was looked up, where, and the way out. It repeats nothing that the hub wrote. */
function asFault(error: unknown, model: string, hub: string): GauntletError {
  if (error instanceof GauntletError) return error;
  const instead = 'or name a folder with --model';
  const { code, cause, syscall } = error as NodeJS.ErrnoException & { cause?: { code?: string } };
  const absent = `${model}: not in the Hugging Face cache ${hubCache()}, and`;
  if (error instanceof HubApiError) {
    const { statusCode: status } = error;
    if (status === 401 || status === 403) {
      const reason = `${hub} answers ${status}: the model is gated, private or does not exist`;
      return new GauntletError('BAD_MODEL', `${model}: ${reason}; ask for access there and set HF_TOKEN, ${instead}`);
    }
    if (status === 404) return new GauntletError('BAD_MODEL', `${absent} ${hub} has no such model or revision`);
    return new GauntletError('HUB_FAULT', `${absent} ${hub} answers ${status}`);
  }
  if (syscall !== undefined && code !== undefined && hasPath(error)) {
    return new GauntletError('HUB_FAULT', `${model}: cannot be written to ${hubCache()} (${code})`);
  }
  if (isOfNetwork(error)) {
    const why = refusalOfProxy(error) ?? (cause?.code || 'the connection ended');
    const out = `set HF_ENDPOINT to an address that can be, ${instead}`;
    return new GauntletError(
      'HUB_FAULT',
      `${absent} ${hub} cannot be reached${throughProxy(proxyFor(hub))} (${why}); ${out}`,
    );
  }
  const detail = error instanceof InvalidAnswer ? `: ${error.message}` : '';
  return new GauntletError('HUB_FAULT', `${model}: ${hub} sent an invalid answer${detail}`);
}

/** How fetch reports a connection that fails or ends. */
const isOfNetwork = (error: unknown): boolean =>
  error instanceof TypeError && /^(fetch failed|terminated)$/.test(error.message);

const hasPath = (error: unknown): boolean => typeof (error as NodeJS.ErrnoException).path === 'string';

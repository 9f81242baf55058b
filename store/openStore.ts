// Opens a store by its URL, or by the path of a folder.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GauntletError } from '../core/base/errors.js';
import { refuseNetworkFolder } from '../infra/sharedFolder.js';
import { BlobCache, blobCacheFolder } from './blobCache.js';
import { FileObjects } from './fileObjects.js';
import { ObjectStore } from './objectStore.js';
import { isS3, parseS3Url } from './s3Place.js';

export const DEFAULT_STORE = '.gauntlet';
const MEGABYTE = 2 ** 20;

/**
 * Opens the store at a path, a file: URL or an s3: URL. The first write creates the folder; a bucket must exist.
 * @throws GauntletError BAD_CONFIG for another URL, a network file system or a bucket that cannot be used; STORE_FAULT if
 * reading fails
 */
export async function openStore(url: string = DEFAULT_STORE): Promise<ObjectStore> {
  if (isS3(url)) {
    const place = parseS3Url(url);
    const { S3Objects } = await import('./s3Objects.js'); // loads the SDK, which takes a while
    const objects = await S3Objects.open(place);
    const limit = place.cacheMegabytes * MEGABYTE;
    return new ObjectStore(objects, limit === 0 ? undefined : new BlobCache(blobCacheFolder(), limit));
  }
  const folder = resolve(storePlace(url));
  await refuseNetworkFolder(folder);
  const objects = new FileObjects(folder);
  await objects.sweepTemporaries();
  return new ObjectStore(objects);
}

/** Whether a run or a server has used the store. Creates nothing. */
export async function storeExists(url: string): Promise<boolean> {
  if (isS3(url)) {
    const place = parseS3Url(url);
    const { S3Objects } = await import('./s3Objects.js');
    return S3Objects.exists(place);
  }
  const folder = storePlace(url);
  return ['runs', 'blobs', 'memo', 'temporal.db'].some((name) => existsSync(join(folder, name)));
}

/** The folder that a path or a file: URL means, or the s3: URL. @throws GauntletError BAD_CONFIG for anything else. */
export function storePlace(text: string): string {
  const forms = 'give a folder, a file: URL or s3://BUCKET/PREFIX';
  if (typeof text !== 'string' || text === '') throw new GauntletError('BAD_CONFIG', `store: ${forms}`);
  if (isS3(text)) return parseS3Url(text).url;
  if (!/^[a-z][a-z0-9+.-]+:/i.test(text)) return text;
  try {
    const url = new URL(text);
    if (url.protocol === 'file:') return fileURLToPath(url);
  } catch {
    throw new GauntletError('BAD_CONFIG', `store: ${text} is not a usable file: URL`);
  }
  throw new GauntletError('BAD_CONFIG', `store: ${text} is not supported; ${forms}`);
}

/**
 * The local folder of what belongs to a store but not into it: the database of an embedded Temporal server, and logs. A
 * store in a folder keeps them there.
 */
export function localFolder(place: string): string {
  if (!isS3(place)) return place;
  const { bucket, prefix, endpoint = '' } = parseS3Url(place);
  const digest = createHash('sha256').update(`${endpoint} ${bucket} ${prefix}`).digest('hex').slice(0, 12);
  const state = process.env.XDG_STATE_HOME || join(homedir(), '.local', 'state');
  return join(state, 'gauntlet', `${bucket}-${digest}`);
}

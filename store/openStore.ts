// Opens a store by its URL, or by the path of a folder.
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GauntletError } from '../core/errors.js';
import { FileObjects } from './fileObjects.js';
import { ObjectStore } from './objectStore.js';

export const DEFAULT_STORE = '.gauntlet';

/**
 * Opens the store in a folder; the first write creates the folder.
 * @param url a path or a file: URL
 * @throws GauntletError BAD_CONFIG for another scheme, STORE_FAULT if the folder cannot be read.
 */
export async function openStore(url: string = DEFAULT_STORE): Promise<ObjectStore> {
  const objects = new FileObjects(resolve(storeFolder(url)));
  await objects.sweepTemporaries();
  return new ObjectStore(objects);
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

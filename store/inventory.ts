// What lies in a store, file by file, for those who check or sweep it: looked at without changing anything.
import { join } from 'node:path';
import { digestBytes } from './canonicalJson.js';
import type { FileStore } from './fileStore.js';
import { BLOBS, MEMO, parseMemo } from './layout.js';
import type { Digest, MemoKind } from './store.js';

export interface StoredFile {
  name: string; // the digest of a blob, the key of a memo row
  path: string; // relative to the store
  bytes: number;
  usedAt: number; // ms since 1970: written, or last relied on
}

/** Blobs under the name of their digest, and files among them that have none. */
export async function listBlobs({ root, files }: FileStore): Promise<{ blobs: StoredFile[]; strays: string[] }> {
  const blobs: StoredFile[] = [];
  const strays: string[] = [];
  for (const found of await files.filesBelow(join(root, BLOBS))) {
    const path = `${BLOBS}/${found}`;
    const facts = await files.facts(join(root, path));
    if (facts === undefined) continue; // swept meanwhile
    if (/^[0-9a-f]{2}\/[0-9a-f]{62}$/.test(found))
      blobs.push({ name: `sha256:${found.replace('/', '')}`, path, ...facts });
    else strays.push(path);
  }
  return { blobs, strays };
}

export async function listMemos(store: FileStore): Promise<StoredFile[]> {
  return listFolder(store, MEMO);
}

/** Files below a folder of the store, under their names in it. */
export async function listFolder({ root, files }: FileStore, folder: string): Promise<StoredFile[]> {
  const found: StoredFile[] = [];
  for (const name of await files.filesBelow(join(root, folder))) {
    const facts = await files.facts(join(root, folder, name));
    if (facts !== undefined) found.push({ name, path: `${folder}/${name}`, ...facts }); // else swept meanwhile
  }
  return found;
}

export type Looked<T> = { is: 'whole'; value: T } | { is: 'missing' } | { is: 'damaged' };

/** Of a blob's bytes. */
export async function lookAtBlob({ root, files, layout }: FileStore, digest: Digest): Promise<Looked<Uint8Array>> {
  const bytes = await files.read(layout.blob(digest), root);
  if (bytes === undefined) return { is: 'missing' };
  return digestBytes(bytes) === digest ? { is: 'whole', value: bytes } : { is: 'damaged' };
}

export async function lookAtMemo(
  { root, files, layout }: FileStore,
  key: string,
): Promise<Looked<{ digest: Digest; kind: MemoKind }>> {
  const bytes = await files.read(layout.memo(key), root);
  if (bytes === undefined) return { is: 'missing' };
  const row = parseMemo(key, bytes);
  return row === undefined ? { is: 'damaged' } : { is: 'whole', value: row };
}

// Lists and reads the files of a store for checks and sweeps, without changing anything.
import { join } from 'node:path';
import { digestBytes } from './canonicalJson.js';
import type { FileStore } from './fileStore.js';
import { BLOBS, MEMO, parseMemo } from './layout.js';
import type { Digest, MemoKind } from './store.js';

export interface StoredFile {
  name: string; // the digest of a blob, the key of a memo row
  path: string; // relative to the store
  bytes: number;
  usedAt: number; // ms since 1970: when it was written or last relied on
}

/** Files below a folder of the store, named by their path in it. */
export async function listFolder({ root, files }: FileStore, folder: string): Promise<StoredFile[]> {
  const found: StoredFile[] = [];
  for (const name of await files.filesBelow(join(root, folder))) {
    const facts = await files.facts(join(root, folder, name));
    if (facts !== undefined) found.push({ name, path: `${folder}/${name}`, ...facts }); // else it was swept meanwhile
  }
  return found;
}

export const listMemos = (store: FileStore): Promise<StoredFile[]> => listFolder(store, MEMO);

/** Blobs, and the paths of files among them whose name is not a digest. */
export async function listBlobs(store: FileStore): Promise<{ blobs: StoredFile[]; strays: string[] }> {
  const files = await listFolder(store, BLOBS);
  const isBlob = ({ name }: StoredFile): boolean => /^[0-9a-f]{2}\/[0-9a-f]{62}$/.test(name);
  return {
    blobs: files.filter(isBlob).map((file) => ({ ...file, name: `sha256:${file.name.replace('/', '')}` })),
    strays: files.filter((file) => !isBlob(file)).map(({ path }) => path),
  };
}

/** The content of a file, if it is as it was written. */
export type Inspected<T> = T | 'missing' | 'damaged';

export async function inspectBlob({ root, files, layout }: FileStore, digest: Digest): Promise<Inspected<Uint8Array>> {
  const bytes = await files.read(layout.blob(digest), root);
  if (bytes === undefined) return 'missing';
  return digestBytes(bytes) === digest ? bytes : 'damaged';
}

export async function inspectMemo(
  { root, files, layout }: FileStore,
  key: string,
): Promise<Inspected<{ digest: Digest; kind: MemoKind }>> {
  const bytes = await files.read(layout.memo(key), root);
  if (bytes === undefined) return 'missing';
  return parseMemo(key, bytes) ?? 'damaged';
}

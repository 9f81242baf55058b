// Lists and reads the files of a store for checks and sweeps, without changing anything.
import { digestBytes } from './canonicalJson.js';
import { BLOBS, layout, MEMO, parseMemo } from './layout.js';
import type { ObjectStore } from './objectStore.js';
import type { Digest, MemoKind } from './store.js';

export interface StoredFile {
  name: string; // the digest of a blob, the key of a memo row
  path: string; // relative to the store
  bytes: number;
  usedAt: number; // ms since 1970: when it was written or last relied on
}

/** Files below a folder of the store, named by their path in it. */
export async function listFolder({ objects }: ObjectStore, folder: string): Promise<StoredFile[]> {
  return (await objects.list(folder)).map((file) => ({ ...file, path: `${folder}/${file.name}` }));
}

export const listMemos = (store: ObjectStore): Promise<StoredFile[]> => listFolder(store, MEMO);

/** Blobs, and the paths of files among them whose name is not a digest. */
export async function listBlobs(store: ObjectStore): Promise<{ blobs: StoredFile[]; strays: string[] }> {
  const files = await listFolder(store, BLOBS);
  const isBlob = ({ name }: StoredFile): boolean => /^[0-9a-f]{2}\/[0-9a-f]{62}$/.test(name);
  return {
    blobs: files.filter(isBlob).map((file) => ({ ...file, name: `sha256:${file.name.replace('/', '')}` })),
    strays: files.filter((file) => !isBlob(file)).map(({ path }) => path),
  };
}

/** The content of a file, if it is as it was written. */
export type Inspected<T> = T | 'missing' | 'damaged';

export async function inspectBlob({ objects }: ObjectStore, digest: Digest): Promise<Inspected<Uint8Array>> {
  const bytes = await objects.read(layout.blob(digest));
  if (bytes === undefined) return 'missing';
  return digestBytes(bytes) === digest ? bytes : 'damaged';
}

export async function inspectMemo(
  { objects }: ObjectStore,
  key: string,
): Promise<Inspected<{ digest: Digest; kind: MemoKind }>> {
  const bytes = await objects.read(layout.memo(key));
  if (bytes === undefined) return 'missing';
  return parseMemo(key, bytes) ?? 'damaged';
}

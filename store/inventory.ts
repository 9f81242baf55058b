// Lists and reads the files of a store for checks and sweeps, without changing anything.
import type { GauntletError } from '../core/base/errors.js';
import { digestBytes } from './canonicalJson.js';
import { isInTheWay, isMemoKey } from './checks.js';
import { BLOBS, layout, MEMO, parseMemo } from './layout.js';
import type { ObjectStore } from './objectStore.js';
import type { Digest, MemoKind } from './store.js';

export interface StoredFile {
  name: string; // the digest of a blob, or the key of a memo row
  path: string; // relative to the store
  bytes: number;
  usedAt: number; // ms since 1970: when the file was written or last relied on
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

export async function inspectBlob(store: ObjectStore, digest: Digest): Promise<Inspected<Uint8Array>> {
  const bytes = await readFile(store, layout.blob(digest));
  return typeof bytes === 'string' || digestBytes(bytes) === digest ? bytes : 'damaged';
}

export async function inspectMemo(
  store: ObjectStore,
  key: string,
): Promise<Inspected<{ digest: Digest; kind: MemoKind }>> {
  if (!isMemoKey(key)) return 'damaged';
  const bytes = await readFile(store, layout.memo(key));
  return typeof bytes === 'string' ? bytes : (parseMemo(key, bytes) ?? 'damaged');
}

/** Reads a file. Damaged is a link, a folder or a pipe in its place, and a file that is larger than any of a store. */
async function readFile({ objects }: ObjectStore, path: string): Promise<Inspected<Uint8Array>> {
  try {
    return (await objects.read(path)) ?? 'missing';
  } catch (error) {
    if (isInTheWay(error) || (error as GauntletError).code === 'CORRUPT_ARTIFACT') return 'damaged';
    throw error;
  }
}

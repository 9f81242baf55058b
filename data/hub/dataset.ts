// Finds the files of one split of a data set on the hub. The hub converts every public set to Parquet, on a branch whose paths name
// configuration and split. A set without that branch, or with a named revision, is read in its owner's form. The file list of a
// commit is kept beside the cache of the hub's own tools, so that a downloaded set needs no network.
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HubApiError } from '@huggingface/hub';
import { z } from 'zod';
import { GauntletError } from '../../core/base/errors.js';
import {
  asFault,
  cacheFolder,
  type DownloadProgress,
  fetchFiles,
  inTurn,
  makeFolder,
  offline,
  type Repository,
  replace,
} from './download.js';
import { commitAt, hubAddress, isOffline, smallFile } from './environment.js';
import { checked, type HubFile, type HubModel, InvalidAnswer, isData, listDataset, MAX_ANSWER } from './listing.js';

export interface Dataset {
  id: string; // owner/name
  config?: string | undefined;
  split?: string | undefined;
  revision?: string | undefined;
}

export interface DatasetFiles {
  files: string[]; // paths, in the order of the set
  config: string;
  split: string;
  revision: string; // the commit
}

const CONVERTED = 'refs/convert/parquet';
const listingSchema = z.array(z.object({ name: z.string().refine(isData), size: z.int(), digest: z.string() })).min(1);

/** @throws GauntletError BAD_INPUT, which says what the user can do; HUB_FAULT if a retry may help */
export async function datasetFiles(
  dataset: Dataset,
  onProgress?: (progress: DownloadProgress) => void,
): Promise<DatasetFiles> {
  const { id, revision } = dataset;
  const repository: Repository = { kind: 'dataset', id };
  return inTurn(repository, async () => {
    try {
      const known = cached(repository, revision === undefined ? [CONVERTED, 'main'] : [revision]);
      const listed = known ?? (await askHub(repository, dataset));
      const chosen = choose(id, listed.files, dataset);
      const folder = join(cacheFolder(repository), 'snapshots', listed.commit);
      const paths = chosen.files.map(({ name }) => join(folder, name));
      if (!paths.every((path) => existsSync(path))) {
        if (isOffline()) throw offline('dataset', id);
        await fetchFiles(repository, { ...listed, files: chosen.files }, onProgress);
      }
      return { files: paths, config: chosen.config, split: chosen.split, revision: listed.commit };
    } catch (error) {
      throw asFault(error, repository, revision === undefined ? id : `${id}@${revision}`);
    }
  });
}

type Listed = HubModel & { revision: string };

/** The file list of the first of these revisions that this machine has in its cache. */
function cached(repository: Repository, revisions: readonly string[]): Listed | undefined {
  for (const revision of revisions) {
    const commit = commitAt(cacheFolder(repository), revision);
    const files = /^[0-9a-f]{40}$/.test(commit) && readListing(listingPath(repository, commit));
    if (files) return { revision, commit, files };
  }
  return undefined;
}

/** A kept file list; undefined if it is damaged, so that the hub is asked again. */
function readListing(path: string): HubFile[] | undefined {
  try {
    return listingSchema.parse(JSON.parse(smallFile(path, MAX_ANSWER) ?? '')).map(checked);
  } catch {
    return undefined;
  }
}

const listingPath = (repository: Repository, commit: string): string =>
  join(cacheFolder(repository), 'listings', `${commit}.json`);

async function askHub(repository: Repository, { id, revision }: Dataset): Promise<Listed> {
  if (isOffline()) throw offline('dataset', id);
  const ask = async (name: string): Promise<Listed> => ({
    revision: name,
    ...(await listDataset(hubAddress(), id, name)),
  });
  const listed =
    revision !== undefined
      ? await ask(revision)
      : await ask(CONVERTED).catch((error: unknown) => {
          if (error instanceof HubApiError && error.statusCode === 404) return ask('main'); // a private or new set is not converted
          throw error;
        });
  if (listed.files.length === 0) throw new InvalidAnswer('it lists no files of Parquet or JSON');
  const path = listingPath(repository, listed.commit);
  await makeFolder(repository, dirname(path));
  await replace(path, (temporary) => writeFile(temporary, JSON.stringify(listed.files), { flag: 'wx' }));
  return listed;
}

interface Split {
  config: string;
  split: string;
  files: HubFile[];
}

/** `taco/train/0000.parquet`, `taco/train-00000-of-00004.parquet`, `data/train-….parquet`, `train.jsonl`. */
function splitOf(name: string): { config: string; split: string } {
  const folders = name.split('/');
  const stem = folders.pop()!.replace(/\.(jsonl?(\.(gz|zst))?|parquet)$/, '');
  const shard = /^(.+?)-\d{5}-of-\d{5}(?:-[0-9a-f]+)?$/.exec(stem)?.[1];
  const isNumber = /^\d+$/.test(stem);
  const split = isNumber ? (folders.pop() ?? 'train') : (shard ?? stem);
  const config = folders.filter((folder) => folder !== 'data').join('/') || 'default';
  return { config, split: split.replace(/^partial-/, '') };
}

/** @throws GauntletError BAD_INPUT, which lists the configurations or splits of the set */
function choose(id: string, files: readonly HubFile[], { config, split }: Dataset): Split {
  const splits = new Map<string, Split>();
  for (const file of files) {
    const of = splitOf(file.name);
    const key = JSON.stringify(of);
    splits.set(key, { ...of, files: [...(splits.get(key)?.files ?? []), file] });
  }
  const all = [...splits.values()];
  const byConfig = narrowed(all, 'config', config ?? 'default', config !== undefined, id);
  const [found] = narrowed(byConfig, 'split', split ?? 'train', split !== undefined, id);
  return found!;
}

/** The splits with this configuration or this name. If the user named none, the only one that exists. */
function narrowed(all: Split[], key: 'config' | 'split', value: string, isAsked: boolean, id: string): Split[] {
  const names = [...new Set(all.map((one) => one[key]))];
  const wanted = isAsked || names.length > 1 ? value : names[0];
  const found = all.filter((one) => one[key] === wanted);
  if (found.length > 0) return found;
  const safe = names.filter((name) => /^[\w.+=,/-]{1,80}$/.test(name)).slice(0, 20);
  throw new GauntletError('BAD_INPUT', `hf:${id}: choose one with ?${key}=NAME: ${safe.join(', ')}`);
}

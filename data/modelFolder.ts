// The folder of a model that a person names: a shipped model, a folder, a GGUF file, or an id of the Hugging Face hub. The files of an
// id come from the hub's cache on this machine; those that are missing are downloaded.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { GauntletError } from '../core/base/errors.js';
import { type DownloadProgress, downloadModel, offline } from './hub/download.js';
import { commitAt, hubCache, isOffline } from './hub/environment.js';
import { isComplete } from './hub/listing.js';
import { isFamily, shippedModelPath } from './paths.js';

const HUB_ID = /^([\w-][\w.-]*)\/([\w-][\w.-]*?)(?:@([\w-][\w.-]*))?$/; // owner/name, owner/name@revision

/** A name with the same meaning from every folder: ids stay as they are, and folders become absolute paths. */
export const portableName = (model: string): string =>
  isFamily(model) || (HUB_ID.test(model) && !existsSync(model)) ? model : resolve(model);

/** The folder of a model, or the GGUF file that is one (ml/gguf/folder.ts); undefined if the model is not on this machine. */
export function localModelFolder(model: string): string | undefined {
  if (isFamily(model)) return shippedModelPath(model);
  if (existsSync(model)) return model;
  const [, owner, name, revision = 'main'] = HUB_ID.exec(model) ?? [];
  return owner && snapshot(join(hubCache(), `models--${owner}--${name}`), revision);
}

/** @throws GauntletError BAD_MODEL, which says what the user can do; HUB_FAULT if a retry may help */
export async function modelFolder(model: string, onProgress?: (progress: DownloadProgress) => void): Promise<string> {
  const folder = localModelFolder(model);
  if (folder !== undefined) {
    refuseFolder(folder);
    return folder;
  }
  const [, owner, name, revision = 'main'] = HUB_ID.exec(model) ?? [];
  const what = isGguf(model) ? 'file' : 'folder; name one with --model';
  if (owner === undefined) throw new GauntletError('BAD_MODEL', `${model}: no such ${what}`);
  if (isOffline()) throw offline('model', model);
  return downloadModel(`${owner}/${name}`, revision, onProgress);
}

/** Refuses a folder that has a GGUF file and no config.json, and names the file. */
function refuseFolder(path: string): void {
  if (!statSync(path).isDirectory() || existsSync(join(path, 'config.json'))) return;
  const file = readdirSync(path).find(isGguf);
  if (file !== undefined)
    throw new GauntletError('BAD_MODEL', `${path}: no config.json; name the GGUF file in it: ${join(path, file)}`);
}

const isGguf = (path: string): boolean => /\.gguf$/i.test(path);

/** The commit of a folder in the hub's cache. */
export const commitOf = (folder: string): string | undefined =>
  /[\\/]models--[^\\/]+[\\/]snapshots[\\/]([0-9a-f]{40})$/.exec(folder)?.[1];

/** The complete snapshot of a revision: a branch, a tag, or a commit, perhaps abbreviated. */
function snapshot(cached: string, revision: string): string | undefined {
  const commit = commitAt(cached, revision);
  const snapshots = join(cached, 'snapshots');
  const found =
    existsSync(snapshots) && /^[0-9a-f]{4,40}$/.test(commit)
      ? readdirSync(snapshots).filter((name) => name.startsWith(commit))
      : [];
  const folder = found.length === 1 ? join(snapshots, found[0]!) : undefined;
  // a link whose file is missing does not count
  const files = folder === undefined ? [] : readdirSync(folder).filter((name) => existsSync(join(folder, name)));
  return isComplete(files) ? folder : undefined;
}

// The folder of a model that a person names: the shipped model, a folder, or an id of the Hugging Face hub whose files are in
// the hub's cache on this machine.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { GauntletError } from '../core/errors.js';
import { tinyModelPath } from './paths.js';

const HUB_ID = /^([\w-][\w.-]*)\/([\w-][\w.-]*?)(?:@([\w-][\w.-]*))?$/; // owner/name, owner/name@revision

/** An id names the same model on every machine; a folder does only as an absolute path. */
export const portableName = (model: string): string =>
  model === 'tiny' || (HUB_ID.test(model) && !existsSync(model)) ? model : resolve(model);

/** @throws GauntletError BAD_MODEL, naming the way out */
export function modelFolder(model: string): string {
  if (model === 'tiny') return tinyModelPath();
  if (existsSync(model)) return model;
  const [, owner, name, revision = 'main'] = HUB_ID.exec(model) ?? [];
  if (owner === undefined) throw new GauntletError('BAD_MODEL', `${model}: no such folder; name one with --model`);
  const cached = join(hubCache(), `models--${owner}--${name}`);
  const folder = snapshot(cached, revision);
  if (folder !== undefined) return folder;
  const id = `${owner}/${name}`;
  const download = `hf download ${id}${revision === 'main' ? '' : ` --revision ${revision}`}`;
  throw new GauntletError(
    'BAD_MODEL',
    `${model}: no such folder, and not in the Hugging Face cache ${hubCache()}; download it with \`${download}\`, or name a folder with --model`,
  );
}

/** As in huggingface_hub. */
function hubCache(): string {
  const { HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HOME } = process.env;
  if (HF_HUB_CACHE) return HF_HUB_CACHE;
  return join(HF_HOME || join(XDG_CACHE_HOME || join(HOME || homedir(), '.cache'), 'huggingface'), 'hub');
}

/** The snapshot of a branch, a tag or a commit, which may be abbreviated. */
function snapshot(cached: string, revision: string): string | undefined {
  const ref = join(cached, 'refs', revision);
  const commit = existsSync(ref) ? readFileSync(ref, 'utf8').trim() : revision;
  const snapshots = join(cached, 'snapshots');
  const found = existsSync(snapshots) ? readdirSync(snapshots).filter((name) => name.startsWith(commit)) : [];
  return found.length === 1 ? join(snapshots, found[0]!) : undefined;
}

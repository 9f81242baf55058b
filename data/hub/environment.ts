// The environment variables of the Hugging Face hub, as its own tools read them.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { HUB_URL } from '@huggingface/hub';
import { GauntletError } from '../../core/base/errors.js';

const home = (): string => {
  const { HF_HOME, XDG_CACHE_HOME, HOME } = process.env;
  return HF_HOME || join(XDG_CACHE_HOME || join(HOME || homedir(), '.cache'), 'huggingface');
};

export const hubCache = (): string => process.env.HF_HUB_CACHE || join(home(), 'hub');

/** The address of the hub or of a mirror, without a slash at its end. @throws GauntletError BAD_INPUT */
export function hubAddress(): string {
  const address = (process.env.HF_ENDPOINT || HUB_URL).replace(/\/+$/, '');
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return address;
  throw new GauntletError('BAD_INPUT', 'HF_ENDPOINT: must be an address that begins with https:// or http://');
}

export function hubToken(): string | undefined {
  const { HF_TOKEN, HF_TOKEN_PATH } = process.env;
  if (HF_TOKEN) return HF_TOKEN.trim();
  try {
    return readFileSync(HF_TOKEN_PATH || join(home(), 'token'), 'utf8').trim() || undefined;
  } catch {
    return undefined; // nobody has logged in
  }
}

/** The commit of a revision, if the cache knows it; else the revision. */
export const commitAt = (folder: string, revision: string): string =>
  smallFile(join(folder, 'refs', revision))?.trim() ?? revision;

export const isOffline = (): boolean => /^(1|true|yes|on)$/i.test(process.env.HF_HUB_OFFLINE ?? '');

/** The text of a file of the cache; undefined if there is none. A pipe, a device or a large file in its place may never end. */
export function smallFile(path: string, most = 1000): string | undefined {
  const stat = existsSync(path) ? statSync(path) : undefined;
  return stat?.isFile() && stat.size <= most ? readFileSync(path, 'utf8') : undefined;
}

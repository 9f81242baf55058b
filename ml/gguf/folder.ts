// A GGUF file as a model: a folder in the cache has its config, its tokenizer, and a link to the file.
import { createHash } from 'node:crypto';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type ErrorCode, GauntletError } from '../../core/base/errors.js';
import { cacheFolder } from '../hf/files.js';
import { inThread } from '../pool/inThread.js';
import type { LinkAnswer, LinkTask } from './folderWorker.js';

const VERSION = 1;

/** The folder of a model. A folder is returned as it is. @throws {GauntletError} BAD_MODEL for an unusable file */
export async function ggufFolder(model: string): Promise<string> {
  if (!/\.gguf$/i.test(model) || !statSync(model).isFile()) return model;
  const { size, mtimeNs, ino } = statSync(model, { bigint: true });
  const id = createHash('sha256')
    .update([realpathSync(model), size, mtimeNs, ino, VERSION].join())
    .digest('hex');
  const name = basename(model)
    .replace(/\.gguf$/i, '')
    .slice(0, 100);
  const folder = join(cacheFolder(), 'gguf', `${name}-${id.slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  const task: LinkTask = { path: model, folder };
  const { error } = await inThread<LinkAnswer>(new URL('./folderWorker.js', import.meta.url), task);
  if (error && !existsSync(folder)) throw new GauntletError(error.code as ErrorCode, error.message); // else another process was faster
  return folder;
}

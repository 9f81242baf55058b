// Writes result lines to standard output, or atomically to a file.
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import { freshPath } from '../export/folder.js';
import { printJson } from './output.js';

export interface Results {
  write(row: unknown): Promise<void>; // in a file, a text is written as it is
  /** Renames the temporary file to its final name. */
  commit(): Promise<void>;
  /** Removes the temporary file; after `commit` it does nothing. */
  close(): Promise<void>;
}

/**
 * @param path a file; undefined for standard output
 * @param flag the option that named the file
 * @throws GauntletError BAD_INPUT if the file cannot be written
 */
export async function openResults(path: string | undefined, flag = '--output'): Promise<Results> {
  return path === undefined ? standardOutput() : intoFile(path, flag);
}

/** Opens the file that --out names, and `<file>.<rest>.jsonl` beside it. Each is written completely or not at all. */
export async function openBoth(out: string, rest: string): Promise<{ main: Results; second: Results; path: string }> {
  const path = `${out.replace(/\.jsonl?$/, '')}.${rest}.jsonl`;
  const main = await openResults(out, '--out');
  try {
    return { main, second: await openResults(path, '--out'), path };
  } catch (error) {
    await main.close();
    throw error;
  }
}

function standardOutput(): Results {
  let broken: Error | undefined; // set when the reader has closed the pipe
  const onError = (error: Error): void => {
    broken = error;
  };
  process.stdout.on('error', onError);
  return {
    async write(row) {
      if (broken) throw new GauntletError('BAD_INPUT', `standard output was closed (${broken.message})`);
      if (!printJson(row)) await once(process.stdout, 'drain').catch(onError);
    },
    commit: async () => undefined,
    close: async () => void process.stdout.off('error', onError),
  };
}

async function intoFile(path: string, flag: string): Promise<Results> {
  const folder = dirname(resolve(path));
  if (!existsSync(folder)) throw new GauntletError('BAD_INPUT', `${flag} ${path}: there is no folder ${folder}`);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    throw new GauntletError('BAD_INPUT', `${flag} ${path}: is not a file; name another one`);
  const fresh = await freshPath(resolve(path));
  const cannot = ({ code = '' }: NodeJS.ErrnoException): never => {
    const isFull = ['ENOSPC', 'EDQUOT', 'EIO'].includes(code);
    throw new GauntletError(isFull ? 'STORE_FAULT' : 'BAD_INPUT', `${flag} ${path}: cannot be written (${code})`);
  };
  let file: FileHandle | undefined = await open(fresh, 'w').catch(cannot);
  return {
    write: (row) => file!.appendFile(typeof row === 'string' ? row : `${JSON.stringify(row)}\n`).catch(cannot),
    async commit() {
      await file!.sync();
      await file!.close();
      file = undefined;
      await rename(fresh, path);
    },
    async close() {
      await file?.close();
      await rm(fresh, { force: true });
    },
  };
}

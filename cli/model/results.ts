// Where result lines go: standard output as they come, or a file that is there whole or not at all.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { GauntletError } from '../../core/errors.js';

export interface Results {
  write(row: unknown): Promise<void>;
  /** Puts the file in its place. */
  commit(): Promise<void>;
  /** Leaves nothing behind; after commit it does nothing. */
  close(): Promise<void>;
}

/** @param path absent: standard output. @param flag that named it. @throws {GauntletError} BAD_INPUT where the file could not be written */
export async function openResults(path: string | undefined, flag = '--output'): Promise<Results> {
  return path === undefined ? standardOutput() : intoFile(path, flag);
}

function standardOutput(): Results {
  let broken: Error | undefined; // whoever reads has gone
  const onError = (error: Error): void => {
    broken = error;
  };
  process.stdout.on('error', onError);
  return {
    async write(row) {
      if (broken) throw new GauntletError('BAD_INPUT', `standard output was closed (${broken.message})`);
      if (!process.stdout.write(line(row))) await once(process.stdout, 'drain').catch(onError);
    },
    commit: async () => undefined,
    close: async () => void process.stdout.off('error', onError),
  };
}

async function intoFile(path: string, flag: string): Promise<Results> {
  const folder = dirname(resolve(path));
  if (!existsSync(folder)) throw new GauntletError('BAD_INPUT', `${flag} ${path}: there is no folder ${folder}`);
  const fresh = `${resolve(path)}.new-${process.pid}`;
  let file: FileHandle | undefined = await open(fresh, 'w').catch((error: NodeJS.ErrnoException) => {
    throw new GauntletError('BAD_INPUT', `${flag} ${path}: cannot be written (${error.code})`);
  });
  return {
    write: async (row) => void (await file!.appendFile(line(row))),
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

const line = (row: unknown): string => `${JSON.stringify(row)}\n`;

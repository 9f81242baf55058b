// Files that are written whole or not at all, and reads and writes that are never short.
import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, fsyncSync, mkdirSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import { cacheFolder as folderOf } from '../../core/cacheFolder.js';
import { GauntletError } from '../../core/errors.js';

export const cacheFolder = (): string => folderOf(process.env, homedir());

/** Opens a file, passes its descriptor to `use`, and closes it. */
export function withFile<T>(path: string, flags: string, use: (fd: number) => T): T {
  const fd = openSync(path, flags);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Creates `target` from what `write` puts into an open file: written to a temporary file, synced, renamed. If several
 * processes write at the same time, the last one wins.
 */
export function writeAtomically(target: string, write: (fd: number) => void): void {
  mkdirSync(dirname(target), { recursive: true });
  const temporary = `${target}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    withFile(temporary, 'wx', (fd) => {
      write(fd);
      fsyncSync(fd);
    });
    renameSync(temporary, target);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Opens a regular file for reading. Close `fd`. @throws {GauntletError} BAD_MODEL */
export function openForReading(path: string): { fd: number; size: number } {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (cause) {
    throw new GauntletError('BAD_MODEL', `${path}: cannot be read`, { cause });
  }
  const stat = fstatSync(fd);
  if (stat.isFile()) return { fd, size: stat.size };
  closeSync(fd);
  throw new GauntletError('BAD_MODEL', `${path}: not a file`);
}

/** @throws {GauntletError} BAD_MODEL if the file ends before `length` bytes */
export function readAll(fd: number, position: number, length: number, path: string): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length; ) {
    const n = readSync(fd, bytes, done, length - done, position + done);
    if (n === 0) throw new GauntletError('BAD_MODEL', `${path}: truncated`);
    done += n;
  }
  return bytes;
}

export function writeAll(fd: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, position + done);
}

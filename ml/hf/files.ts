// Writes files whole or not at all. Reads and writes are never short.
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import { cacheFolder as folderOf } from '../../core/base/cacheFolder.js';
import { decodeText, NotText } from '../../core/base/encoding.js';
import { type ErrorCode, GauntletError } from '../../core/base/errors.js';

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
 * Creates `target` from what `write` puts into a temporary file, which is then synced and renamed. If several
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

/**
 * Opens a regular file for reading. Model folders are untrusted: opening a named pipe would wait for ever, and a device like
 * /dev/zero never ends. Close `fd`. @throws {GauntletError} with `code`
 */
export function openForReading(path: string, code: ErrorCode = 'BAD_MODEL'): { fd: number; size: number } {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    throw new GauntletError(code, `${path}: ${isMissing ? 'not found' : 'cannot be read'}`, { cause });
  }
  const stat = fstatSync(fd);
  if (stat.isFile()) return { fd, size: stat.size };
  closeSync(fd);
  throw new GauntletError(code, `${path}: not a file`);
}

/** In bytes. It is far above the files of every published model, except weights. */
export const MAX_TEXT = 1 << 26;

/** A whole regular file of at most `most` bytes. @throws {GauntletError} with `code` */
export function readWhole(path: string, most = MAX_TEXT, code: ErrorCode = 'BAD_MODEL'): Uint8Array {
  const { fd, size } = openForReading(path, code);
  try {
    if (size > most) throw new GauntletError(code, `${path}: has ${size} bytes, at most ${most} are supported`);
    return readAll(fd, 0, size, path, code);
  } finally {
    closeSync(fd);
  }
}

/** The text of a regular file. @throws {GauntletError} BAD_MODEL */
export function readText(path: string): string {
  const bytes = readWhole(path);
  try {
    return decodeText(bytes);
  } catch (cause) {
    if (cause instanceof NotText) throw new GauntletError('BAD_MODEL', `${path}: ${cause.message}`, { cause });
    throw cause;
  }
}

const MOST_READ = 2 ** 30; // bytes; Node.js reads less than 2³¹ at once

/** @throws {GauntletError} with `code` if the file ends before `length` bytes */
export function readAll(
  fd: number,
  position: number,
  length: number,
  path: string,
  code: ErrorCode = 'BAD_MODEL',
): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length; ) {
    const n = readSync(fd, bytes, done, Math.min(MOST_READ, length - done), position + done);
    if (n === 0) throw new GauntletError(code, `${path}: truncated; is the download complete?`);
    done += n;
  }
  return bytes;
}

export function writeAll(fd: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, position + done);
}

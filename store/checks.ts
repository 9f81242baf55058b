// Checks of names, and error codes of a failing file system. Names come from users and workflow ids; none may lead out of
// the store's folder.
import { GauntletError } from '../core/base/errors.js';

const RUN_ID = /^[A-Za-z0-9_][A-Za-z0-9_.:@=+-]{0,199}$/;
const MEMO_KEY = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

export const isRunId = (name: string): boolean => typeof name === 'string' && RUN_ID.test(name);

/** @throws GauntletError BAD_INPUT */
export function checkRunId(runId: string): void {
  if (!isRunId(runId)) {
    throw new GauntletError('BAD_INPUT', `run id ${JSON.stringify(runId)}: use 1–200 of A–Z a–z 0–9 _ . : @ = + -`);
  }
}

/** Whether a path is relative, and has no '.', '..' or empty segment, backslash or control character. */
export function isRunPath(path: string): boolean {
  return !path.split('/').some((part) => {
    const odd = [...part].some((char) => char < ' ' || char === '\\' || char === '\u007f');
    return part === '' || part === '.' || part === '..' || odd || Buffer.byteLength(part) > 255;
  });
}

/** @throws GauntletError BAD_INPUT */
export function checkRunPath(path: string): void {
  if (!isRunPath(path))
    throw new GauntletError('BAD_INPUT', `path ${JSON.stringify(path)}: not a plain path inside a run`);
}

export const isMemoKey = (name: string): boolean => MEMO_KEY.test(name);

export function checkMemoKey(key: string): void {
  if (!isMemoKey(key)) throw new GauntletError('BAD_INPUT', `memo key ${JSON.stringify(key)} is not a plain name`);
}

export function checkDigest(digest: string): void {
  if (!DIGEST.test(digest)) {
    throw new GauntletError('BAD_INPUT', `${JSON.stringify(digest)} is not a digest ('sha256:' and 64 hex digits)`);
  }
}

export function errnoOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && !(error instanceof GauntletError) ? code : undefined;
}

/** Errors that the caller's names cause, such as a folder in the place of a file. All others are faults of the machine. */
const CALLERS: ReadonlySet<string | undefined> = new Set(['EISDIR', 'ENOTDIR', 'EEXIST', 'ELOOP', 'ENAMETOOLONG']);
const WHY: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left',
  EDQUOT: 'the disk quota is used up',
  EIO: 'the device failed',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'not permitted (the store needs a file system with hard links)',
  EFBIG: 'the file size limit was hit',
  EMFILE: 'too many open files',
};

/** Turns an error of the file system into a GauntletError: STORE_FAULT is retried, BAD_INPUT is not. */
export function faultOf(error: unknown, doing: string, path: string): Error {
  if (error instanceof GauntletError) return error;
  const code = errnoOf(error);
  if (code === undefined) return error as Error;
  if (code === 'ERR_FS_FILE_TOO_LARGE') {
    return new GauntletError('CORRUPT_ARTIFACT', `${doing} ${path}: larger than any file of a store`, { cause: error });
  }
  const why = WHY[code] ?? (error as Error).message;
  if (CALLERS.has(code)) {
    return new GauntletError('BAD_INPUT', `${doing} ${path}: a file or folder is in the way (${code})`, {
      cause: error,
    });
  }
  return new GauntletError('STORE_FAULT', `${doing} ${path}: ${why} (${code})`, { cause: error });
}

/** Whether something else than a file is at the place of a file. A link that leads out of the store does not count. */
export const isInTheWay = (error: unknown): boolean =>
  error instanceof GauntletError && error.code === 'BAD_INPUT' && /in the way|not a regular file/.test(error.message);

/** Whether the machine cannot read this file, which says nothing about the other files. */
export const isUnreadable = (error: unknown): boolean =>
  error instanceof GauntletError && error.code === 'STORE_FAULT' && UNREADABLE.has(errnoOf(error.cause));
const UNREADABLE: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'EIO']);

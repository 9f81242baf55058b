// Tells apart what an error of S3 means: a missing object, another writer that was first, a fault to retry, or a mistake of
// the user.
import { GauntletError } from '../core/base/errors.js';
import type { S3Place } from './s3Place.js';

interface S3Error {
  name?: string;
  message?: string;
  code?: string; // why the connection failed
  $metadata?: { httpStatusCode?: number };
}

const statusOf = (error: unknown): number | undefined => (error as S3Error).$metadata?.httpStatusCode;

/** Whether an object is missing. A missing bucket is a fault. */
export const isMissing = (error: unknown): boolean =>
  statusOf(error) === 404 && (error as S3Error).name !== 'NoSuchBucket';

/** Whether the condition of a request does not hold: the object exists, or it is not the one that was meant. */
export const isRefused = (error: unknown): boolean => statusOf(error) === 412;

/** Whether another conditional request was under way, so that the server did not decide. */
export const isConflict = (error: unknown): boolean => statusOf(error) === 409;

/** A fault of a single operation. Credentials and permissions may change, so it is retried like a full disk. */
export function s3Fault(error: unknown, doing: string, place: string): Error {
  if (error instanceof GauntletError) return error;
  return new GauntletError('STORE_FAULT', `${doing} ${place}: ${reasonOf(error)}`, { cause: error });
}

const NO_ANSWER: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'TimeoutError']);

const nameOf = ({ bucket, prefix }: S3Place): string => `store: s3://${bucket}/${prefix}`;

export const noConditionalWrites = (place: S3Place): GauntletError =>
  new GauntletError(
    'BAD_CONFIG',
    `${nameOf(place)}: the server has no conditional writes (If-None-Match): use another one`,
  );

/** Says what the user can do about a store that cannot be opened. */
export function openingError(error: unknown, place: S3Place): GauntletError {
  if (error instanceof GauntletError) return error;
  const { name, code } = error as S3Error;
  const store = nameOf(place);
  const bad = (what: string) => new GauntletError('BAD_CONFIG', `${store}: ${what}`, { cause: error });
  if (name === 'NoSuchBucket') return bad('the bucket does not exist: create it, or name another one');
  if (name === 'CredentialsProviderError')
    return bad('no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE');
  if (/region is missing/i.test(reasonOf(error))) return bad('no region: add ?region=NAME, or set AWS_REGION');
  if (statusOf(error) === 401 || statusOf(error) === 403)
    return bad(
      `access is denied (${reasonOf(error)}): check the credentials and their rights to list, read, write and delete`,
    );
  if (statusOf(error) === 301) return bad('the bucket is in another region: add ?region=NAME');
  if (statusOf(error) === 501) return noConditionalWrites(place);
  const what = NO_ANSWER.has(code) || NO_ANSWER.has(name) ? `${place.endpoint ?? 'S3'} does not answer: ` : '';
  return new GauntletError('STORE_FAULT', `${store}: ${what}${reasonOf(error)}`, { cause: error });
}

/** Returns the reason in one line. */
function reasonOf(error: unknown): string {
  const { name, message, code } = error as S3Error;
  const text = `${message || code || 'no message'}`.replaceAll(/[\s\p{Cc}]+/gu, ' ').slice(0, 200);
  return name === undefined || name === 'Error' ? text : `${text} (${name})`;
}

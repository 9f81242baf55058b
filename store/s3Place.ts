// The URL of a store in a bucket: s3://bucket/prefix?endpoint=…&region=…&cache=…
import { z } from 'zod';
import { GauntletError } from '../core/base/errors.js';

export interface S3Place {
  url: string;
  bucket: string;
  prefix: string; // '' or ends with a slash
  endpoint?: string;
  region?: string;
  cacheMegabytes: number; // 0 means no cache
}

const CACHE_MEGABYTES = 4096;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^[A-Za-z0-9_.=@+-]+(\/[A-Za-z0-9_.=@+-]+)*$/;

const optionsSchema = z.strictObject({
  endpoint: z.url({ protocol: /^https?$/, error: 'is not an http: or https: URL' }).optional(),
  region: z.string().min(1).optional(),
  cache: z.coerce.number<string>('is not a number of megabytes').int().nonnegative().default(CACHE_MEGABYTES),
});

export const isS3 = (place: string): boolean => /^s3:/i.test(place);

/** @throws GauntletError BAD_CONFIG naming what is wrong */
export function parseS3Url(text: string): S3Place {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const form = 'write s3://BUCKET/PREFIX?endpoint=URL&region=NAME&cache=MEGABYTES, with the bucket at least';
  if (url === undefined || url.host === '') throw bad(text, `is not a usable URL: ${form}`);
  if (url.username !== '' || url.password !== '' || url.hash !== '')
    throw bad(
      'the s3: URL',
      'holds credentials or a fragment: put credentials into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
    );
  if (!BUCKET.test(url.host)) throw bad(text, `${url.host} is not the name of a bucket`);
  const path = url.pathname.replace(/^\/+|\/+$/g, '');
  if (path !== '' && (!PREFIX.test(path) || path.split('/').some((part) => /^\.+$/.test(part))))
    throw bad(text, `its prefix may have letters, digits and _ . = @ + - between slashes`);
  const { data, error } = optionsSchema.safeParse(Object.fromEntries(url.searchParams));
  if (error) {
    const { path: field, message } = error.issues[0]!;
    throw bad(text, `${field.join('.') || 'its options'}: ${message}; ${form}`);
  }
  const { endpoint, region, cache } = data;
  return {
    url: text,
    bucket: url.host,
    prefix: path === '' ? '' : `${path}/`,
    cacheMegabytes: cache,
    ...(endpoint === undefined ? {} : { endpoint, region: region ?? process.env.AWS_REGION ?? 'us-east-1' }),
    ...(region === undefined ? {} : { region }),
  };
}

const bad = (text: string, what: string): GauntletError => new GauntletError('BAD_CONFIG', `store: ${text}: ${what}`);

// Artifacts refer to others by digests inside JSON.
import type { Digest } from './store.js';

const WHOLE = /^sha256:[0-9a-f]{64}$/;
const ANYWHERE = /sha256:[0-9a-f]{64}/g;
const NOT_ARTIFACTS: ReadonlySet<string> = new Set(['modelDigest', 'discriminatorModelDigest', 'splitDigest']);

/** Every string that is a digest, except those of data outside the store (the weights of a base model). */
export function digestsIn(value: unknown): Digest[] {
  if (typeof value === 'string') return WHOLE.test(value) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => (NOT_ARTIFACTS.has(key) ? [] : digestsIn(item)));
}

/** Finds the digests in the bytes of an artifact. An artifact that is not JSON refers to nothing. */
export function digestsInBytes(bytes: Uint8Array): Digest[] {
  if (bytes[0] !== 0x7b && bytes[0] !== 0x5b) return []; // JSON with references begins with { or [
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  if (!text.includes('"sha256:')) return [];
  try {
    return digestsIn(JSON.parse(text));
  } catch {
    return [];
  }
}

/** Every digest anywhere in a text. A sweep uses it, because it must not keep too little. */
export const digestsInText = (text: string): Digest[] => text.match(ANYWHERE) ?? [];

// The keys of a store's objects. Names are checked before they become keys.
import { digestBytes, hexOf } from './canonicalJson.js';
import { checkMemoKey, checkRunId, checkRunPath } from './checks.js';
import type { Digest, MemoKind } from './store.js';

export const BLOBS = 'blobs/sha256';
export const MEMO = 'memo';
export const RUNS = 'runs';
/** Damaged objects that were moved away, for people to inspect. */
export const ASIDE = 'quarantine';
/** Objects that a sweep has taken and not yet removed. */
export const TAKEN = 'trash';

export const layout = {
  blob(digest: Digest): string {
    const hex = hexOf(digest);
    return `${BLOBS}/${hex.slice(0, 2)}/${hex.slice(2)}`;
  },
  memo(key: string): string {
    checkMemoKey(key);
    return `${MEMO}/${key}`;
  },
  run(runId: string, path?: string): string {
    checkRunId(runId);
    if (path !== undefined) checkRunPath(path);
    return path === undefined ? `${RUNS}/${runId}` : `${RUNS}/${runId}/${path}`;
  },
  taken: (name: string): string => `${TAKEN}/${name}`,
  aside: (name: string): string => `${ASIDE}/${name}`,
};

/** The one line of a memo row. Its checksum covers the key, so a flipped bit or a file renamed to another key shows. */
export function memoText(key: string, digest: Digest, kind: MemoKind): string {
  const body = kind === 'plain' ? digest : `${digest} ${kind}`;
  return `${body} ${digestBytes(`memo ${key} ${body}`).slice(7, 23)}\n`;
}

/** Parses a memo row. Undefined if the row is damaged. */
export function parseMemo(key: string, bytes: Uint8Array): { digest: Digest; kind: MemoKind } | undefined {
  const text = Buffer.from(bytes).toString('utf8');
  const [digest = '', word] = text.split(' ');
  const kind: MemoKind = word === 'recorded' ? 'recorded' : 'plain';
  return text === memoText(key, digest, kind) ? { digest, kind } : undefined;
}

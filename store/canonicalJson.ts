// One text per value: equal values must have equal digests, on every machine and in every process.
import { createHash } from 'node:crypto';
import { GauntletError } from '../core/errors.js';
import type { Digest } from './store.js';

export function digestBytes(bytes: Uint8Array | string): Digest {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/**
 * JSON with keys in code-unit order and shortest round-trip numbers. Only plain JSON passes: what JSON.stringify
 * would drop or change in silence (undefined, NaN, a Map, a class instance) is refused with its path.
 * `indent` > 0 breaks lines for people; the text is as deterministic.
 * @throws GauntletError BAD_INPUT
 */
export function canonicalJson(value: unknown, indent = 0): string {
  const parts: string[] = [];
  append(value, '$', parts, indent, '\n', new Set());
  return parts.join('');
}

export function digestJson(value: unknown): Digest {
  return digestBytes(canonicalJson(value));
}

function append(value: unknown, path: string, out: string[], indent: number, line: string, open: Set<object>): void {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') {
    out.push(JSON.stringify(value));
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw refused(path, String(value));
    out.push(JSON.stringify(value));
  } else if (typeof value === 'object') {
    if (open.has(value)) throw refused(path, 'a cycle');
    open.add(value);
    const isArray = Array.isArray(value);
    const items: [string | undefined, unknown][] = isArray
      ? Array.from(value, (item) => [undefined, item])
      : entriesOf(value, path).map(([key, item]) => [key, item]);
    const next = line + ' '.repeat(indent);
    out.push(isArray ? '[' : '{');
    items.forEach(([key, item], index) => {
      if (index > 0) out.push(',');
      if (indent > 0) out.push(next);
      if (key !== undefined) out.push(JSON.stringify(key), indent > 0 ? ': ' : ':');
      append(item, key === undefined ? `${path}[${index}]` : `${path}.${key}`, out, indent, next, open);
    });
    if (indent > 0 && items.length > 0) out.push(line);
    out.push(isArray ? ']' : '}');
    open.delete(value);
  } else {
    throw refused(path, value === undefined ? 'undefined' : `a ${typeof value}`);
  }
}

function entriesOf(value: object, path: string): [string, unknown][] {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw refused(path, `an instance of ${value.constructor?.name ?? 'a class'}`);
  }
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}

function refused(path: string, what: string): GauntletError {
  return new GauntletError('BAD_INPUT', `${path} holds ${what}, which JSON cannot carry`);
}

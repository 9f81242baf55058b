// Writes equal values as the same text, so that they have equal digests on every machine and in every process.
import { createHash } from 'node:crypto';
import { GauntletError } from '../core/base/errors.js';
import type { Digest } from './store.js';

export const digestBytes = (bytes: Uint8Array | string): Digest =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

export const hexOf = (digest: Digest): string => digest.slice('sha256:'.length);

/**
 * JSON with keys in code-unit order, as RFC 8785 defines it. Like JSON.stringify, it leaves out undefined fields. Other
 * values that are not plain JSON (NaN, undefined in a list, a Map, a class instance) are refused with their path.
 * @param indent spaces per level; 0 writes one line
 * @throws GauntletError BAD_INPUT
 */
export const canonicalJson = (value: unknown, indent = 0): string => new Writer(indent).text(value, '\n');

/** The text of a record: for people to read, in lines. @throws GauntletError BAD_INPUT */
export const renderedJson = (value: unknown): string => `${canonicalJson(value, 2)}\n`;

export const digestJson = (value: unknown): Digest => digestBytes(canonicalJson(value));

/** The fields in which two objects differ, sorted. An absent field equals null. */
export function differingKeys(a: object, b: object): string[] {
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort();
  return keys.filter((key) => canonicalJson(left[key] ?? null) !== canonicalJson(right[key] ?? null));
}

/** Parses bytes as JSON. Undefined if they are not JSON. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}

class Writer {
  private readonly open: object[] = []; // the containers of the current value, outermost first
  private readonly path: (string | number)[] = []; // the path of the current value

  constructor(private readonly indent: number) {}

  /** @param line the line break before the closing bracket of this value */
  text(value: unknown, line: string): string {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return JSON.stringify(value);
    if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value);
    if (typeof value !== 'object') throw this.refused(describe(value));
    if (this.open.includes(value)) throw this.refused('a cycle');
    this.open.push(value);
    const text = Array.isArray(value) ? this.array(value, line) : this.object(value as Record<string, unknown>, line);
    this.open.pop();
    return text;
  }

  private array(items: unknown[], line: string): string {
    if (this.indent === 0 && areNumbers(items)) return `[${items.join(',')}]`; // token ids: ten times as fast
    const parts = Array.from(items, (item, i) => this.part(i, item, line));
    return this.joined('[', parts, ']', line);
  }

  private object(fields: Record<string, unknown>, line: string): string {
    const prototype = Object.getPrototypeOf(fields);
    if (prototype !== Object.prototype && prototype !== null)
      throw this.refused(`an instance of ${fields.constructor?.name ?? 'a class'}`);
    const colon = this.indent > 0 ? ': ' : ':';
    const keys = Object.keys(fields)
      .sort()
      .filter((key) => fields[key] !== undefined);
    const parts = keys.map((key) => JSON.stringify(key) + colon + this.part(key, fields[key], line));
    return this.joined('{', parts, '}', line);
  }

  private part(key: string | number, value: unknown, line: string): string {
    this.path.push(key);
    const text = this.text(value, line + ' '.repeat(this.indent));
    this.path.pop();
    return text;
  }

  private joined(open: string, parts: string[], close: string, line: string): string {
    if (this.indent === 0 || parts.length === 0) return open + parts.join(',') + close;
    const inner = line + ' '.repeat(this.indent);
    return open + inner + parts.join(`,${inner}`) + line + close;
  }

  private refused(what: string): GauntletError {
    const path = this.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
    return new GauntletError('BAD_INPUT', `$${path} holds ${what}, which JSON cannot represent`);
  }
}

const describe = (value: unknown): string =>
  typeof value === 'number' || value === undefined ? String(value) : `a ${typeof value}`;

function areNumbers(items: unknown[]): boolean {
  for (let i = 0; i < items.length; i++) if (!Number.isFinite(items[i])) return false; // `every` would skip holes
  return true;
}

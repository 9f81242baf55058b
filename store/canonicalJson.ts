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
  return new Writer(indent).text(value);
}

export function digestJson(value: unknown): Digest {
  return digestBytes(canonicalJson(value));
}

/** JSON.stringify writes whatever has its keys in order already; by hand it would take ten times as long. */
class Writer {
  private readonly open: object[] = []; // around the present value, from the outermost
  private readonly path: (string | number)[] = []; // of the present value
  private readonly line: string;

  constructor(private readonly indent: number) {
    this.line = `\n${' '.repeat(indent)}`;
  }

  text(value: unknown): string {
    return this.reordered(value) ?? JSON.stringify(value, null, this.indent);
  }

  /** The text of what holds keys out of order; undefined where JSON.stringify gives it. */
  private reordered(value: unknown): string | undefined {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
    if (typeof value === 'number') {
      if (Number.isFinite(value)) return undefined;
      throw this.refused(String(value));
    }
    if (typeof value !== 'object') throw this.refused(value === undefined ? 'undefined' : `a ${typeof value}`);
    if (this.open.includes(value)) throw this.refused('a cycle');
    this.open.push(value);
    const text = Array.isArray(value) ? this.array(value) : this.object(value as Record<string, unknown>);
    this.open.pop();
    return text;
  }

  private array(items: unknown[]): string | undefined {
    let texts: Map<number, string> | undefined; // of those out of order
    for (let i = 0; i < items.length; i++) {
      const item = items[i];
      if (typeof item === 'number' && Number.isFinite(item)) continue; // token ids
      this.path.push(i);
      const text = this.reordered(item);
      this.path.pop();
      if (text !== undefined) {
        texts ??= new Map();
        texts.set(i, text);
      }
    }
    return (
      texts &&
      this.joined(
        '[',
        items.map((item, i) => texts.get(i) ?? this.plain(item)),
        ']',
      )
    );
  }

  private object(fields: Record<string, unknown>): string | undefined {
    const prototype = Object.getPrototypeOf(fields);
    if (prototype !== Object.prototype && prototype !== null)
      throw this.refused(`an instance of ${fields.constructor?.name ?? 'a class'}`);
    const keys = Object.keys(fields);
    let isOrdered = true;
    for (let i = 1; i < keys.length && isOrdered; i++) isOrdered = keys[i - 1]! < keys[i]!;
    if (!isOrdered) keys.sort();
    let texts: Map<string, string> | undefined;
    for (const key of keys) {
      this.path.push(key);
      const text = this.reordered(fields[key]);
      this.path.pop();
      if (text !== undefined) {
        texts ??= new Map();
        texts.set(key, text);
      }
    }
    if (isOrdered && texts === undefined) return undefined;
    const colon = this.indent > 0 ? ': ' : ':';
    const parts = keys.map((key) => JSON.stringify(key) + colon + (texts?.get(key) ?? this.plain(fields[key])));
    return this.joined('{', parts, '}');
  }

  private plain(value: unknown): string {
    return JSON.stringify(value, null, this.indent);
  }

  /** A line break never stands inside of a string. */
  private joined(open: string, parts: string[], close: string): string {
    if (this.indent === 0) return open + parts.join(',') + close;
    const { line } = this;
    return `${open}${line}${parts.map((part) => part.replaceAll('\n', line)).join(`,${line}`)}\n${close}`;
  }

  private refused(what: string): GauntletError {
    const path = this.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
    return new GauntletError('BAD_INPUT', `$${path} holds ${what}, which JSON cannot carry`);
  }
}

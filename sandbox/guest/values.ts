// Checks that a value is plain data. This is no zod schema, because answers have up to 200 000 parts and may be deep.
import type { Value } from '../../core/schema/value.js';

export const MAX_DEPTH = 66; // the guest stops at 64
export const MAX_NODES = 400_000;

const FLOAT = /^(nan|-?inf|-?\d+(\.\d+)?(e[+-]?\d+)?)$/;
const INT = /^-?0x[0-9a-f]+$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Further tags, each with a function that checks its content. */
export type MoreTags = Record<string, (x: unknown, each: (y: unknown) => boolean) => boolean>;
const NO_TAGS: MoreTags = {};

/** Whether a value fits the tagged codec (core/schema/value.ts) and the limits on depth and number of parts. */
export function isPlainValue(value: unknown, more: MoreTags = NO_TAGS, maxNodes = MAX_NODES): value is Value {
  let nodes = 0;
  const check = (x: unknown, depth: number): boolean => {
    if (depth > MAX_DEPTH || ++nodes > maxNodes) return false;
    if (x === null || typeof x === 'boolean' || typeof x === 'string') return true;
    if (typeof x === 'number') return Number.isSafeInteger(x);
    if (Array.isArray(x)) return x.every((y) => check(y, depth + 1));
    if (typeof x !== 'object') return false;
    const entries = Object.entries(x);
    if (entries.length !== 1) return false;
    const [tag, y] = entries[0]!;
    switch (tag) {
      case 'i':
        return typeof y === 'string' && INT.test(y);
      case 'f':
        return isFloat(y);
      case 't':
      case 's':
        return Array.isArray(y) && y.every((z) => check(z, depth + 1));
      case 'd':
        return (
          Array.isArray(y) &&
          y.every((p) => Array.isArray(p) && p.length === 2 && check(p[0], depth + 1) && check(p[1], depth + 1))
        );
      case 'b':
        return typeof y === 'string' && BASE64.test(y);
      case 'c':
        return Array.isArray(y) && y.length === 2 && y.every(isFloat);
      default:
        return Object.hasOwn(more, tag) && more[tag]!(y, (z) => check(z, depth + 1));
    }
  };
  return check(value, 0);
}

const isFloat = (x: unknown): boolean => typeof x === 'string' && FLOAT.test(x);

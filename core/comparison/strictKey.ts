// A text for a value: two values have the same text if and only if they are equal in mode strict. Its digest stands for
// a large answer that need not be kept.
import type { Value } from '../schema/value.js';
import { isNumber, numberKey, view } from './views.js';

/** @throws Malformed */
export function strictKey(value: Value): string {
  const v = view(value);
  if (isNumber(v)) return `${v.type} ${numberKey(v)}`;
  switch (v.type) {
    case 'none':
      return v.type;
    case 'str':
    case 'bytes':
      return `${v.type} ${JSON.stringify(v.text)}`;
    case 'list':
    case 'tuple':
      return `${v.type}[${v.items.map(strictKey).join()}]`;
    case 'set':
      return `set[${[...new Set(v.items.map(strictKey))].sort().join()}]`;
    case 'dict': {
      const pairs = new Map(v.pairs.map(([key, x]) => [strictKey(key), strictKey(x)])); // a repeated key has its last value
      return `dict[${[...pairs]
        .map(([key, x]) => `${key}:${x}`)
        .sort()
        .join()}]`;
    }
  }
}

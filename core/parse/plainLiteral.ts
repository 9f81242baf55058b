// Literals of the plain kind, which most tests are made of, read without a grammar: it costs twenty times as much.
import type { Value } from '../schema/value.js';
import { floatRepr } from './numbers.js';

const MAX_TEXT = 4096; // below every cap on the number of values
const MAX_DEPTH = 32; // below that of nesting

const TOKEN =
  /[ \n]*(?:([[(\])])|(,)|(-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?)|(True|False|None)|'([^'\\\r\n]*)'|"([^"\\\r\n]*)")/y;
const CONSTANTS: Readonly<Record<string, Value>> = { True: true, False: false, None: null };

interface Sequence {
  bracket: string;
  items: Value[];
  comma: boolean; // nothing stands after it yet
}

/**
 * The value of a list or tuple of decimal numbers, strings without escapes, True, False, None, lists and tuples.
 * Undefined for anything else, also where it is a literal: the grammar decides (Evaluation).
 */
export function plainLiteral(text: string): Value | undefined {
  if (text.length > MAX_TEXT) return undefined;
  const open: Sequence[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const [, bracket, comma, number, constant, single, double] = TOKEN.exec(text) ?? [];
    const inside = open.at(-1);
    let value: Value | undefined;
    if (bracket === '(' || bracket === '[') {
      if (open.length === MAX_DEPTH || (inside && !expectsValue(inside))) return undefined;
      open.push({ bracket, items: [], comma: false });
      continue;
    }
    if (inside === undefined) return undefined;
    if (comma !== undefined) {
      if (inside.comma || inside.items.length === 0) return undefined;
      inside.comma = true;
      continue;
    }
    if (bracket !== undefined) {
      value = closed(inside, bracket);
      open.pop();
      if (open.length === 0) return TOKEN.lastIndex === text.length ? value : undefined;
    } else if (number !== undefined) value = numberOf(number);
    else value = constant === undefined ? (single ?? double) : CONSTANTS[constant];
    const around = open.at(-1)!;
    if (value === undefined || !expectsValue(around)) return undefined;
    around.items.push(value);
    around.comma = false;
  }
  return undefined;
}

const expectsValue = ({ items, comma }: Sequence): boolean => comma || items.length === 0;

/** `(1)` is a number, and commas at the end are left to the grammar but for that of `(1,)`. */
function closed({ bracket, items, comma }: Sequence, by: string): Value | undefined {
  if (bracket === '[') return by === ']' && !comma ? items : undefined;
  return by === ')' && items.length > 0 && comma === (items.length === 1) ? { t: items } : undefined;
}

function numberOf(text: string): Value {
  if (text.includes('.')) return { f: floatRepr(Number(text)) };
  return text === '-0' ? 0 : Number(text);
}

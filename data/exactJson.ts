// JSON as Python writes and reads it. JavaScript's numbers are one type: 1.0 would become the int 1, a long int would
// lose digits, and NaN and Infinity are no JSON at all. So such numbers are kept as marks with their text.
import { isTooDeep } from '../core/nesting.js';
import { floatValue, intValue } from '../core/parse/numbers.js';
import type { Value } from '../core/schema/value.js';

const MARK = '\u2209'; // the one key of an object that stands for a number
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b|-?\d[\d.eE+-]*/g;
const PLAIN = /^-?\d{1,15}$/;
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** JSON; NaN and Infinity, which Python writes, are marks. @throws SyntaxError */
export function parseJson(text: string): unknown {
  try {
    return shallow(JSON.parse(text));
  } catch (error) {
    if (!/\b(?:NaN|Infinity)\b/.test(text)) throw error;
    return shallow(JSON.parse(marked(text, (number) => !/\d/.test(number))));
  }
}

/** Every number that JavaScript would not keep as the int that it is, as a mark. @throws SyntaxError */
export const parseExactJson = (text: string): unknown =>
  shallow(JSON.parse(marked(text, (number) => !PLAIN.test(number))));

function shallow(json: unknown): unknown {
  if (isTooDeep(json)) throw new SyntaxError('nested too deep');
  return json;
}

const marked = (text: string, isMarked: (number: string) => boolean): string =>
  text.replace(STRING_OR_NUMBER, (part) =>
    part[0] !== '"' && isMarked(part) && (JSON_NUMBER.test(part) || !/\d/.test(part))
      ? JSON.stringify({ [MARK]: part })
      : part,
  );

/** What parseExactJson gave as a Python value: lists stay lists, an object is a dict with keys of text. */
export function valueOfExact(json: unknown): Value {
  if (json === null || typeof json === 'boolean' || typeof json === 'string') return json;
  if (typeof json === 'number') return Object.is(json, -0) ? 0 : json;
  if (Array.isArray(json)) return json.map(valueOfExact);
  const entries = Object.entries(json as object);
  if (entries.length === 1 && entries[0]![0] === MARK) return numberOf(String(entries[0]![1]));
  return { d: entries.map(([key, value]): [Value, Value] => [key, valueOfExact(value)]) };
}

function numberOf(text: string): Value {
  if (/^-?\d+$/.test(text)) return intValue(BigInt(text));
  return floatValue(Number(text)); // NaN and Infinity are spelled the same in both languages
}

// JSON as Python writes and reads it. JSON.parse turns 1.0 into the int 1, drops digits of long ints and refuses NaN and
// Infinity. So such numbers are replaced by marker objects that hold their text.
import { isTooDeep } from '../core/nesting.js';
import { floatValue, intValue } from '../core/parse/numbers.js';
import type { Value } from '../core/schema/value.js';

export const MARK = '\u2209'; // the only key of an object that stands for a number
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b|-?\d[\d.eE+-]*/g;
const PLAIN = /^-?\d{1,15}$/;
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** JSON; NaN and Infinity become markers. @throws SyntaxError */
export function parseJson(text: string): unknown {
  try {
    return shallow(JSON.parse(text));
  } catch (error) {
    if (!/\b(?:NaN|Infinity)\b/.test(text)) throw error;
    return shallow(JSON.parse(marked(text, (number) => !/\d/.test(number))));
  }
}

/** JSON; every number but an int of up to 15 digits becomes a marker. @throws SyntaxError */
export const parseExactJson = (text: string): unknown =>
  shallow(JSON.parse(marked(text, (number) => !PLAIN.test(number))));

function shallow(json: unknown): unknown {
  if (isTooDeep(json)) throw new SyntaxError('nested too deeply');
  return json;
}

const marked = (text: string, isMarked: (number: string) => boolean): string =>
  text.replace(STRING_OR_NUMBER, (part) =>
    part[0] !== '"' && isMarked(part) && (JSON_NUMBER.test(part) || !/\d/.test(part))
      ? JSON.stringify({ [MARK]: part })
      : part,
  );

/**
 * Parsed JSON as a Python value: lists stay lists, an object becomes a dict with string keys.
 * @throws RangeError for an int that JSON.parse rounds
 */
export function valueOfJson(json: unknown): Value {
  if (json === null || typeof json === 'boolean' || typeof json === 'string') return json;
  if (Number.isSafeInteger(json)) return Object.is(json, -0) ? 0 : (json as number);
  if (Number.isInteger(json))
    throw new RangeError('holds a number that JSON cannot represent exactly: write the test as an assert string');
  if (typeof json === 'number') return floatValue(json);
  if (Array.isArray(json)) return json.map(valueOfJson);
  const entries = Object.entries(json as object);
  if (entries.length === 1 && entries[0]![0] === MARK) return numberOf(String(entries[0]![1]));
  return { d: entries.map(([key, value]): [Value, Value] => [key, valueOfJson(value)]) };
}

function numberOf(text: string): Value {
  if (/^-?\d+$/.test(text)) return intValue(BigInt(text));
  return floatValue(Number(text)); // NaN and Infinity are spelled the same in both languages
}

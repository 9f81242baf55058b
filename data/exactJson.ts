// JSON as Python writes and reads it. JSON.parse turns 1.0 into the int 1, drops digits of long ints and refuses NaN and
// Infinity. So such numbers are replaced by marker objects that hold their text. It also moves keys like "10" to the front
// of an object. So keys that start with a digit get a prefix.
import { isTooDeep, overflowOf, stringEnd } from '../core/base/nesting.js';
import { floatValue, intValue } from '../core/parse/numbers.js';
import type { Value } from '../core/schema/value.js';

export const MARK = '\u2209'; // the only key of an object that stands for a number, or the prefix of a key
const NUMBER = /-?\b(?:NaN|Infinity)\b|-?\d[\d.eE+-]*/g;
const DIGIT_KEY = /^"\d.*:$/s;
const BLANK = /\s/;
const PLAIN = /^-?\d{1,15}$/;
const PREFIX = new RegExp(`^${MARK}(?=\\d)`);
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** JSON; NaN and Infinity become markers. @throws SyntaxError */
export function parseJson(text: string): unknown {
  const overflow = overflowOf(text);
  if (overflow !== undefined) throw new SyntaxError(overflow);
  try {
    return shallow(JSON.parse(text));
  } catch (error) {
    if (!/\b(?:NaN|Infinity)\b/.test(text)) throw error;
    return shallow(JSON.parse(marked(text, (token) => /^-?[NI]/.test(token))));
  }
}

/** Parses like parseJson. Numbers become markers, except ints of up to 15 digits; keys that start with a digit get a prefix. */
export const parseExactJson = (text: string): unknown =>
  JSON.parse(marked(text, (token) => (token[0] === '"' ? DIGIT_KEY.test(token) : !PLAIN.test(token))));

/** Parses a JSON text of a list or an object. Returns any other value unchanged. */
export function ofJsonText(given: unknown, parse: (text: string) => unknown = parseExactJson): unknown {
  if (typeof given !== 'string' || !/^\s*[[{]/.test(given)) return given;
  try {
    parseJson(given); // refuses too many lists and too deep nesting
    return parse(given);
  } catch {
    return given;
  }
}

function shallow(json: unknown): unknown {
  if (isTooDeep(json)) throw new SyntaxError('nested too deeply');
  return json;
}

/** Marks the numbers and keys that `isMarked` selects. Makes one pass, since a text that is not JSON may also be long. */
function marked(text: string, isMarked: (token: string) => boolean): string {
  const mark = (token: string): string => {
    if (!isMarked(token)) return token;
    if (token[0] === '"') return `"${MARK}${token.slice(1)}`;
    return JSON_NUMBER.test(token) || !/\d/.test(token) ? JSON.stringify({ [MARK]: token }) : token;
  };
  const out: string[] = [];
  for (let at = 0; at < text.length; ) {
    const open = text.indexOf('"', at);
    out.push(text.slice(at, open < 0 ? text.length : open).replace(NUMBER, mark));
    if (open < 0) break;
    const end = stringEnd(text, open) + 1;
    let next = end;
    while (BLANK.test(text[next] ?? '')) next++;
    at = text[next] === ':' ? next + 1 : end;
    out.push(mark(text.slice(open, at)));
  }
  return out.join('');
}

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
  return { d: entries.map(([key, value]): [Value, Value] => [key.replace(PREFIX, ''), valueOfJson(value)]) };
}

/** Converts plain numbers from parseExactJson to values of the tagged codec: 1.0 becomes the float {"f": "1.0"}. */
export function taggedOfJson(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(taggedOfJson);
  if (typeof json !== 'object' || json === null) return json;
  const entries = Object.entries(json);
  if (entries.length === 1 && entries[0]![0] === MARK) return numberOf(String(entries[0]![1]));
  return Object.fromEntries(entries.map(([key, value]) => [key.replace(PREFIX, ''), taggedOfJson(value)]));
}

function numberOf(text: string): Value {
  if (/^-?\d+$/.test(text)) return intValue(BigInt(text));
  return floatValue(Number(text)); // NaN and Infinity are spelled the same in both languages
}

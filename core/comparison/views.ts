// A view shows a Value by its type. Numbers are equal as with Python's ==, which is exact between ints and floats of any size,
// but nan equals nan, and an expected float has a tolerance.
import type { Value } from '../schema/value.js';

export type NumberView =
  | { type: 'bool' | 'int'; int: bigint }
  | { type: 'float'; float: number }
  | { type: 'complex'; parts: readonly [number, number] };
export type View =
  | { type: 'none' }
  | NumberView
  | { type: 'str' | 'bytes'; text: string }
  | { type: 'list' | 'tuple' | 'set'; items: Value[] }
  | { type: 'dict'; pairs: [Value, Value][] };

/** Not a value of the codec. It is equal to nothing, not even to itself. */
export class Malformed extends Error {}

/** @throws Malformed */
export function view(value: Value): View {
  if (value === null) return { type: 'none' };
  switch (typeof value) {
    case 'boolean':
      return { type: 'bool', int: value ? 1n : 0n };
    case 'number':
      if (!Number.isSafeInteger(value)) break;
      return { type: 'int', int: BigInt(value) };
    case 'string':
      return { type: 'str', text: value };
    case 'object':
      if (Array.isArray(value)) return { type: 'list', items: value };
      if ('i' in value) return { type: 'int', int: intOf(value.i) };
      if ('f' in value) return { type: 'float', float: floatOf(value.f) };
      if ('t' in value) return { type: 'tuple', items: value.t };
      if ('s' in value) return { type: 'set', items: value.s };
      if ('d' in value) return { type: 'dict', pairs: value.d };
      if ('b' in value) return { type: 'bytes', text: value.b };
      if ('c' in value) return { type: 'complex', parts: [floatOf(value.c[0]), floatOf(value.c[1])] };
  }
  throw new Malformed();
}

function intOf(text: string): bigint {
  if (!/^-?0x[0-9a-f]+$/i.test(text)) throw new Malformed();
  return text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text);
}

function floatOf(text: string): number {
  if (text === 'nan') return Number.NaN;
  if (text === 'inf' || text === '-inf') return text === 'inf' ? Infinity : -Infinity;
  if (!/^-?\d+(\.\d*)?(e[+-]?\d+)?$/i.test(text)) throw new Malformed();
  return Number(text);
}

export const isNumber = (v: View): v is NumberView =>
  v.type === 'bool' || v.type === 'int' || v.type === 'float' || v.type === 'complex';

/** A text that two numbers share if and only if they are equal in Python, or both are nan. */
export function numberKey(number: NumberView): string {
  if (number.type === 'float') return floatKey(number.float);
  if (number.type !== 'complex') return number.int.toString(16);
  const [re, im] = number.parts;
  return im === 0 ? floatKey(re) : `${floatKey(re)}+${floatKey(im)}j`;
}

/** Hexadecimal if the float is an integer; else decimal, which differs from every hexadecimal int ('.', 'e-', 'N', 'I'). */
const floatKey = (x: number): string => (Number.isInteger(x) ? BigInt(x).toString(16) : String(x));

export interface Tolerance {
  absolute: number;
  relative: number; // a share of the expected value
}

/** Whether the tolerance applies to this expected number: finite floats and complex numbers. */
export const isLoose = (number: NumberView): boolean =>
  number.type === 'complex' || (number.type === 'float' && Number.isFinite(number.float));

/** Whether `got` is within the tolerance of `wanted`, which is loose. */
export function isClose(got: NumberView, wanted: NumberView, tolerance: Tolerance): boolean {
  if (wanted.type === 'float') {
    const x = realOf(got);
    return x !== undefined && closeFloats(x, wanted.float, tolerance);
  }
  if (wanted.type !== 'complex') return false;
  const [re, im] = got.type === 'complex' ? got.parts : [realOf(got)!, 0];
  return closeFloats(re, wanted.parts[0], tolerance) && closeFloats(im, wanted.parts[1], tolerance);
}

/** The nearest float; undefined for a number with an imaginary part. */
function realOf(number: NumberView): number | undefined {
  if (number.type === 'float') return number.float;
  if (number.type !== 'complex') return Number(number.int);
  return number.parts[1] === 0 ? number.parts[0] : undefined;
}

/** The key by which numbers are sorted: the float nearest to the real part, infinite for nan. */
export function realPart(number: NumberView): number {
  const real = number.type === 'complex' ? number.parts[0] : realOf(number)!;
  return Number.isNaN(real) ? Infinity : real;
}

function closeFloats(got: number, wanted: number, { absolute, relative }: Tolerance): boolean {
  if (got === wanted || (Number.isNaN(got) && Number.isNaN(wanted))) return true;
  if (!Number.isFinite(got) || !Number.isFinite(wanted)) return false;
  const slack = Math.max(absolute, relative * Math.abs(wanted));
  return wanted - slack <= got && got <= wanted + slack;
}

// Reads Python's numeric literals and prints numbers as Python does.
import type { Value } from '../schema/value.js';

/** A Python int: plain JSON in the safe range, hexadecimal beyond. */
export function intValue(n: bigint): Value {
  if (n <= BigInt(Number.MAX_SAFE_INTEGER) && n >= BigInt(Number.MIN_SAFE_INTEGER)) return Number(n);
  return { i: n < 0n ? `-0x${(-n).toString(16)}` : `0x${n.toString(16)}` };
}

/** The inverse of intValue; undefined for a value that is not an int. */
export function toBigInt(value: Value): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  if (value === null || typeof value !== 'object' || !('i' in value)) return undefined;
  return value.i.startsWith('-') ? -BigInt(value.i.slice(1)) : BigInt(value.i);
}

export const floatValue = (x: number): Value => ({ f: floatRepr(x) });

export function toFloat(value: Value): number | undefined {
  if (value === null || typeof value !== 'object' || !('f' in value)) return undefined;
  return value.f === 'inf' ? Infinity : value.f === '-inf' ? -Infinity : Number(value.f);
}

/** Python's repr of a float: the shortest digits, as in JavaScript, with an exponent outside 1e-4 ≤ |x| < 1e16. */
export function floatRepr(x: number): string {
  if (Number.isNaN(x)) return 'nan';
  if (!Number.isFinite(x)) return x > 0 ? 'inf' : '-inf';
  if (x === 0) return Object.is(x, -0) ? '-0.0' : '0.0';
  const [mantissa, exponentText] = x.toExponential().split('e') as [string, string];
  const exponent = Number(exponentText);
  if (exponent < -4 || exponent >= 16) {
    const digits = String(Math.abs(exponent)).padStart(2, '0');
    return `${mantissa}e${exponent < 0 ? '-' : '+'}${digits}`;
  }
  const sign = mantissa.startsWith('-') ? '-' : '';
  const digits = mantissa.replace(/[-.]/g, '');
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`;
}

const INTEGER = /^(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?0)*|[1-9](?:_?[0-9])*)$/;
const FLOAT = /^(?:\d(?:_?\d)*\.(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*|\d(?:_?\d)*(?=[eE]))(?:[eE][+-]?\d(?:_?\d)*)?$/;

/** Reads a numeric literal without sign; undefined if Python would refuse it. */
export function parseNumber(text: string): Value | undefined {
  const plain = text.replaceAll('_', '');
  if (INTEGER.test(text)) return intValue(BigInt(plain));
  if (FLOAT.test(text)) return floatValue(Number(plain));
  const imaginary = /^(.*)[jJ]$/.exec(text)?.[1];
  if (imaginary !== undefined && (FLOAT.test(imaginary) || /^\d(?:_?\d)*$/.test(imaginary))) {
    return { c: ['0.0', floatRepr(Number(imaginary.replaceAll('_', '')))] };
  }
  return undefined;
}

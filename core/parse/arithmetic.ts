// Constant arithmetic of tests (2**3, 10**9 + 7, "a" * 3, [0] * 5), within caps, so that no text can make the parser
// slow or use much memory.
import type { Value } from '../schema/value.js';
import { floatRepr, floatValue, intValue, toBigInt, toFloat } from './numbers.js';

const MAX_INT_BITS = 4096;
export const MAX_LENGTH = 10_000; // characters of a string, elements of a sequence

/** Why a text is not a literal: it does not parse, it needs evaluation, or it exceeds a cap. */
export type LiteralReason = 'syntax' | 'not-literal' | 'too-large';
/** Internal to the parser, whose callers turn it into a coded error or a rejected test. */
export class LiteralProblem extends Error {
  constructor(
    readonly reason: LiteralReason,
    message: string,
  ) {
    super(message);
  }
}

const unsupported = (op: string): LiteralProblem => new LiteralProblem('not-literal', `operator ${op} on these values`);
const tooLarge = (what: string): LiteralProblem => new LiteralProblem('too-large', `${what} is too large`);

function checkedInt(n: bigint): Value {
  if (n.toString(16).length * 4 > MAX_INT_BITS + 4) throw tooLarge('an int');
  return intValue(n);
}

export function unary(op: string, value: Value): Value {
  const int = toBigInt(value);
  if (int !== undefined) {
    if (op === '-') return intValue(-int);
    if (op === '+') return value;
    if (op === '~') return intValue(~int);
  }
  const float = toFloat(value);
  if (float !== undefined && (op === '-' || op === '+')) return op === '-' ? floatValue(-float) : value;
  if (isComplex(value) && (op === '-' || op === '+'))
    return op === '+' ? value : { c: [negate(value.c[0]), negate(value.c[1])] };
  throw unsupported(op);
}

const negate = (repr: string): string => floatRepr(-toFloat({ f: repr })!);

export function binary(op: string, left: Value, right: Value): Value {
  const a = toBigInt(left);
  const b = toBigInt(right);
  if (a !== undefined && b !== undefined) return intArithmetic(op, a, b);
  if (op === '*' && (a !== undefined || b !== undefined)) {
    const repeated = a === undefined ? repeat(left, b!) : repeat(right, a);
    if (repeated !== undefined) return repeated;
  }
  if (op === '+') {
    const joined = concatenate(left, right);
    if (joined !== undefined) return joined;
  }
  const x = toFloat(left) ?? (a === undefined ? undefined : Number(a));
  const y = toFloat(right) ?? (b === undefined ? undefined : Number(b));
  if (x !== undefined && y !== undefined) return floatArithmetic(op, x, y);
  if (y === undefined && x !== undefined && (op === '+' || op === '-') && isComplex(right)) {
    const imaginary = op === '+' ? right.c[1] : negate(right.c[1]);
    return { c: [floatRepr(x), imaginary] }; // such as 1 + 2j
  }
  throw unsupported(op);
}

function isComplex(value: Value): value is { c: [string, string] } {
  return value !== null && typeof value === 'object' && 'c' in value;
}

function intArithmetic(op: string, a: bigint, b: bigint): Value {
  if (b === 0n && (op === '/' || op === '//' || op === '%'))
    throw new LiteralProblem('not-literal', 'division by zero');
  switch (op) {
    case '+':
      return checkedInt(a + b);
    case '-':
      return checkedInt(a - b);
    case '*':
      return checkedInt(a * b);
    case '/':
      return floatValue(Number(a) / Number(b));
    case '//':
      return checkedInt(floorDiv(a, b));
    case '%':
      return checkedInt(a - floorDiv(a, b) * b);
    case '**': {
      if (b < 0n) return floatArithmetic('**', Number(a), Number(b));
      const bits = (a < 0n ? -a : a).toString(2).length;
      if (a !== 0n && a !== 1n && a !== -1n && b * BigInt(bits) > BigInt(2 * MAX_INT_BITS)) throw tooLarge('an int');
      return checkedInt(a ** b);
    }
    case '<<':
      if (b < 0n || b > BigInt(MAX_INT_BITS)) throw tooLarge('an int');
      return checkedInt(a << b);
    default:
      throw unsupported(op);
  }
}

const floorDiv = (a: bigint, b: bigint): bigint => (a % b !== 0n && a < 0n !== b < 0n ? a / b - 1n : a / b);

function floatArithmetic(op: string, x: number, y: number): Value {
  const result =
    op === '+' ? x + y : op === '-' ? x - y : op === '*' ? x * y : op === '/' ? x / y : op === '**' ? x ** y : NaN;
  // Python raises an error for most results that are not finite
  if (!Number.isFinite(result)) throw unsupported(op);
  return floatValue(result);
}

function repeat(value: Value, times: bigint): Value | undefined {
  const length = sequenceLength(value);
  if (length === undefined) return undefined;
  if (BigInt(length) * (times > 0n ? times : 0n) > BigInt(MAX_LENGTH)) throw tooLarge('a sequence');
  const count = length > 0 && times > 0n ? Number(times) : 0;
  if (weightOf(value) * count > 2 * MAX_LENGTH) throw tooLarge('a sequence');
  if (typeof value === 'string') return value.repeat(count);
  const items = itemsOf(value)!;
  const out: Value[] = [];
  for (let i = 0; i < count; i++) out.push(...items);
  return Array.isArray(value) ? out : { t: out };
}

function concatenate(left: Value, right: Value): Value | undefined {
  const length = (sequenceLength(left) ?? 0) + (sequenceLength(right) ?? 0);
  if (length > MAX_LENGTH) throw tooLarge('a sequence');
  if (typeof left === 'string' && typeof right === 'string') return left + right;
  if (Array.isArray(left) && Array.isArray(right)) return [...left, ...right];
  if (isTuple(left) && isTuple(right)) return { t: [...left.t, ...right.t] };
  return undefined;
}

export function isTuple(value: Value): value is { t: Value[] } {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && 't' in value;
}

/** The items of a list or a tuple; undefined for another value. */
export const itemsOf = (value: Value): Value[] | undefined =>
  Array.isArray(value) ? value : isTuple(value) ? value.t : undefined;

/** Approximate size of a computed value: 1 per scalar, more for long texts and ints. */
export function weightOf(value: Value): number {
  if (typeof value === 'string') return 1 + value.length / 8;
  if (value === null || typeof value !== 'object') return 1;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + weightOf(item), 1);
  if ('t' in value || 's' in value) return weightOf('t' in value ? value.t : value.s);
  return 'i' in value
    ? 1 + value.i.length / 8
    : 'd' in value
      ? value.d.reduce((sum, pair) => sum + weightOf(pair), 1)
      : 1;
}

function sequenceLength(value: Value): number | undefined {
  return typeof value === 'string' ? value.length : itemsOf(value)?.length;
}

// Equality of answers and expected values, decided outside the sandbox. Lenient follows Python's ==, widened:
// True == 1, 3.0 == 3, a tuple equals a list at any depth, nan equals nan, and where a float is expected the answer
// may differ by 1e-9 (relative or absolute). Inside sets and keys of dicts numbers compare exactly, as hashing does.
// Strict: the same types at every depth and equal floats (nan equals nan, -0.0 equals 0.0). Sets and dicts are
// unordered in both; set and frozenset are one.
import { type Comparison, type ComparisonSpec, comparisonSpecSchema } from './schema/comparison.js';
import type { CallResult, Verdict } from './schema/execution.js';
import type { Value } from './schema/value.js';

type Mode = ComparisonSpec['mode'];
const TOLERANCE = 1e-9;
const specOf = (comparison: Comparison): ComparisonSpec =>
  comparisonSpecSchema.parse(typeof comparison === 'string' ? { mode: comparison } : comparison);

/** The answer `a` against the expected value `b`. Total: malformed values are equal to nothing. */
export const equalValues = (a: Value, b: Value, comparison: Comparison): boolean =>
  equal(a, b, specOf(comparison).mode);

function equal(a: Value, b: Value, mode: Mode): boolean {
  const left = view(a);
  const right = view(b);
  if (left.type === 'bad' || right.type === 'bad') return false;
  if (mode === 'strict' && left.type !== right.type) return false;
  if (isNumber(left) && isNumber(right)) return equalNumbers(left, right, mode);
  if (isSequence(left) && isSequence(right))
    return left.items.length === right.items.length && left.items.every((x, i) => equal(x, right.items[i]!, mode));
  switch (left.type) {
    case 'none':
      return right.type === 'none';
    case 'str':
    case 'bytes':
      return right.type === left.type && right.text === left.text;
    case 'complex':
    case 'bool':
    case 'int':
    case 'float': {
      const [x, y] = [complexParts(left), complexParts(right)];
      return x !== undefined && y !== undefined && x.every((part, i) => equalFloats(part, y[i]!, mode));
    }
    case 'set': {
      if (right.type !== 'set') return false;
      const wanted = new Set(right.items.map((x) => canonicalKey(x, mode)));
      const got = new Set(left.items.map((x) => canonicalKey(x, mode)));
      return got.size === wanted.size && [...got].every((key) => wanted.has(key));
    }
    case 'dict': {
      if (right.type !== 'dict') return false;
      const wanted = new Map(right.pairs.map(([k, v]) => [canonicalKey(k, mode), v]));
      const got = new Map(left.pairs.map(([k, v]) => [canonicalKey(k, mode), v]));
      if (got.size !== wanted.size) return false;
      return [...got].every(([key, v]) => wanted.has(key) && equal(v, wanted.get(key)!, mode));
    }
    default:
      return false;
  }
}

/** One call against its expected value. No value is never a pass. */
export function judge(result: CallResult, expected: Value, comparison: Comparison): Verdict {
  if (result.kind !== 'value') return result.kind;
  return equalValues(result.value, expected, comparison) ? 'pass' : 'fail';
}

/** The worse comes first: a program's outcome is the first of these that one of its tests shows. */
export const OUTCOME_ORDER = ['memory', 'timeout', 'output', 'error', 'fail', 'pass'] as const satisfies Verdict[];

/** The outcome of a program from the verdicts of its tests; a program without a verdict has shown nothing: 'error'. */
export function judgeProgram(verdicts: readonly Verdict[]): Verdict {
  return OUTCOME_ORDER.find((verdict) => verdicts.includes(verdict)) ?? 'error';
}

type View =
  | { type: 'none' | 'bad' }
  | { type: 'bool' | 'int'; int: bigint }
  | { type: 'float'; float: number }
  | { type: 'str' | 'bytes'; text: string }
  | { type: 'list' | 'tuple' | 'set'; items: Value[] }
  | { type: 'dict'; pairs: [Value, Value][] }
  | { type: 'complex'; parts: number[] };
type NumberView = Extract<View, { int: bigint } | { float: number }>;
type SequenceView = Extract<View, { items: Value[] }>;

const isNumber = (v: View): v is NumberView => v.type === 'bool' || v.type === 'int' || v.type === 'float';
const isSequence = (v: View): v is SequenceView => v.type === 'list' || v.type === 'tuple';

function view(value: Value): View {
  if (value === null) return { type: 'none' };
  if (typeof value === 'boolean') return { type: 'bool', int: value ? 1n : 0n };
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { type: 'int', int: BigInt(value) } : { type: 'bad' };
  if (typeof value === 'string') return { type: 'str', text: value };
  if (Array.isArray(value)) return { type: 'list', items: value };
  if ('i' in value) return parseInt16(value.i);
  if ('f' in value) return parseFloatTag(value.f);
  if ('t' in value) return { type: 'tuple', items: value.t };
  if ('s' in value) return { type: 'set', items: value.s };
  if ('d' in value) return { type: 'dict', pairs: value.d };
  if ('b' in value) return { type: 'bytes', text: value.b };
  if ('c' in value) {
    const parts = value.c.map(parseFloatTag);
    return parts.every((p) => p.type === 'float')
      ? { type: 'complex', parts: parts.map((p) => (p as { float: number }).float) }
      : { type: 'bad' };
  }
  return { type: 'bad' };
}

function parseInt16(text: string): View {
  if (!/^-?0x[0-9a-f]+$/i.test(text)) return { type: 'bad' };
  return { type: 'int', int: text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text) };
}

function parseFloatTag(text: string): View {
  if (text === 'nan') return { type: 'float', float: Number.NaN };
  if (text === 'inf' || text === '-inf') return { type: 'float', float: text === 'inf' ? Infinity : -Infinity };
  return /^-?\d+(\.\d*)?(e[+-]?\d+)?$/i.test(text) ? { type: 'float', float: Number(text) } : { type: 'bad' };
}

function equalNumbers(got: NumberView, wanted: NumberView, mode: Mode): boolean {
  if ('int' in got && 'int' in wanted) return got.int === wanted.int;
  if ('float' in wanted) return equalFloats('int' in got ? Number(got.int) : got.float, wanted.float, mode);
  return 'float' in got && Number.isInteger(got.float) && BigInt(got.float) === wanted.int;
}

function equalFloats(got: number, wanted: number, mode: Mode): boolean {
  if (got === wanted || (Number.isNaN(got) && Number.isNaN(wanted))) return true;
  if (mode === 'strict' || !Number.isFinite(got) || !Number.isFinite(wanted)) return false;
  return Math.abs(got - wanted) <= Math.max(TOLERANCE * Math.abs(wanted), TOLERANCE);
}

const complexParts = (v: View): number[] | undefined =>
  v.type === 'complex' ? v.parts : isNumber(v) ? ['int' in v ? Number(v.int) : v.float, 0] : undefined;

/** Text that two values share exactly when they are equal as keys: unordered inside sets, types merged when lenient. */
function canonicalKey(value: Value, mode: Mode): string {
  const v = view(value);
  const tag = (type: string) => (mode === 'strict' ? type : '');
  const list = (items: Value[]) => items.map((x) => canonicalKey(x, mode));
  switch (v.type) {
    case 'none':
    case 'bad':
      return v.type;
    case 'bool':
    case 'int':
      return `${tag(v.type)}#${v.int.toString(16)}`;
    case 'float':
      return `${tag(v.type)}#${Number.isInteger(v.float) ? BigInt(v.float).toString(16) : v.float}`;
    case 'str':
    case 'bytes':
      return `${v.type}${JSON.stringify(v.text)}`;
    case 'list':
    case 'tuple':
      return `${tag(v.type)}[${list(v.items).join()}]`;
    case 'set':
      return `{${[...new Set(list(v.items))].sort().join()}}`;
    case 'dict':
      return `d{${v.pairs
        .map(([k, x]) => `${canonicalKey(k, mode)}:${canonicalKey(x, mode)}`)
        .sort()
        .join()}}`;
    case 'complex':
      return `${v.type}(${v.parts.join()})`;
  }
}

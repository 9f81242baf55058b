// Equality of answers and expected values, decided outside the sandbox; docs/sandbox.md states it for users.
// Lenient is Python's ==, widened: a tuple equals a list at any depth, nan equals nan, and where a finite float is
// expected, at any depth, the answer may lie within a tolerance of it. Numbers are otherwise compared exactly (1 == 1.0
// == True; an int of any size against a float as Python does). Strict: the same types at every depth and equal numbers;
// nan equals nan, -0.0 equals 0.0. Python: == as CPython answers it for values that share no object: a tuple is no list,
// nan equals nothing, no tolerance. In all, sets and dicts have no order, and set and frozenset are one.
import { Forest } from './comparison/nodes.js';
import { Pairing, TooManySteps } from './comparison/pairing.js';
import { equalTokens } from './comparison/tokens.js';
import { isClose, isLoose, isNan, isNumber, Malformed, numberKey, type View, view } from './comparison/views.js';
import { type Comparison, type ComparisonSpec, comparisonSpecSchema } from './schema/comparison.js';
import type { CallResult, Verdict } from './schema/execution.js';
import type { Value } from './schema/value.js';

const byName: Record<ComparisonSpec['mode'], ComparisonSpec> = {
  lenient: comparisonSpecSchema.parse({ mode: 'lenient' }),
  strict: comparisonSpecSchema.parse({ mode: 'strict' }),
  python: comparisonSpecSchema.parse({ mode: 'python' }),
};
const parsed = new WeakMap<object, ComparisonSpec>();

/** All of a comparison. A problem's is read once: objects are known again. */
export function comparisonOf(comparison: Comparison): ComparisonSpec {
  if (typeof comparison === 'string') return byName[comparison];
  const known = parsed.get(comparison);
  if (known) return known;
  const spec = comparisonSpecSchema.parse(comparison);
  parsed.set(comparison, spec);
  return spec;
}

/** The answer `a` against the expected value `b`. Total: malformed values are equal to nothing. */
export function equalValues(a: Value, b: Value, comparison: Comparison): boolean {
  const spec = comparisonOf(comparison);
  if (spec.text === 'tokens' && typeof a === 'string' && typeof b === 'string') return equalTokens(a, b, spec);
  try {
    return ordersOf[spec.order](a, b, spec);
  } catch (error) {
    if (error instanceof Malformed || error instanceof TooManySteps) return false;
    throw error;
  }
}

type Equality = (a: Value, b: Value, spec: ComparisonSpec) => boolean;

const ordersOf: Readonly<Record<ComparisonSpec['order'], Equality>> = {
  exact: (a, b, spec) => inOrder(a, b, spec),
  any: (a, b, spec) => {
    const [left, right] = [view(a), view(b)];
    if (!isSequence(left) || !isSequence(right)) return inOrder(a, b, spec);
    if (spec.mode !== 'lenient' && left.type !== right.type) return false;
    const { forest, pairing } = tools(spec);
    const [got, wanted] = [left, right].map(({ items }) => items.map((x) => forest.node(x)));
    return pairing.pairOff(got!, wanted!);
  },
  'any-depth': (a, b, spec) => {
    const { forest, pairing } = tools(spec, true);
    return pairing.equal(forest.node(a), forest.node(b));
  },
  set: (a, b, spec) => {
    const [left, right] = [view(a), view(b)];
    if (!isCollection(left) || !isCollection(right)) return inOrder(a, b, spec);
    if (spec.mode !== 'lenient' && left.type !== right.type) return false;
    const { forest, pairing } = tools(spec);
    const [got, wanted] = [left, right].map(({ items }) => items.map((x) => forest.node(x)));
    return pairing.cover(got!, wanted!);
  },
};

/** Lists as they stand; what has no order goes to the forest, where it is linear. */
function inOrder(a: Value, b: Value, spec: ComparisonSpec): boolean {
  const left = view(a);
  const right = view(b);
  if (spec.mode === 'strict' && left.type !== right.type) return false;
  if (isNumber(left) || isNumber(right)) {
    if (!isNumber(left) || !isNumber(right)) return false;
    if (spec.mode === 'python' && isNan(right)) return false;
    return numberKey(left) === numberKey(right) || (isTolerant(spec) && isLoose(right) && isClose(left, right, spec));
  }
  if (isSequence(left) && isSequence(right) && (spec.mode !== 'python' || left.type === right.type))
    return left.items.length === right.items.length && left.items.every((x, i) => inOrder(x, right.items[i]!, spec));
  if ('text' in left) return right.type === left.type && 'text' in right && right.text === left.text;
  if (left.type !== right.type) return false;
  if (left.type === 'none') return true;
  const { forest, pairing } = tools(spec);
  return pairing.equal(forest.node(a), forest.node(b));
}

function tools(spec: ComparisonSpec, unordered = false): { forest: Forest; pairing: Pairing } {
  const forest = new Forest({ mode: spec.mode, loose: isTolerant(spec), unordered });
  return { forest, pairing: new Pairing(forest, spec) };
}

const isTolerant = ({ mode, absolute, relative }: ComparisonSpec): boolean =>
  mode === 'lenient' && (absolute > 0 || relative > 0);

type Collection = Extract<View, { items: Value[] }>;
const isSequence = (v: View): v is Collection & { type: 'list' | 'tuple' } => v.type === 'list' || v.type === 'tuple';
const isCollection = (v: View): v is Collection => 'items' in v;

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

// Equality of answers and expected values, decided outside the sandbox; docs/sandbox.md describes it for users.
// Lenient is Python's ==, widened: a tuple equals a list at any depth, nan equals nan, and if a finite float is
// expected, at any depth, the answer may differ by a tolerance. Other numbers are compared exactly (1 == 1.0 == True;
// an int of any size with a float as Python does). Strict: the same types at every depth and equal numbers;
// nan equals nan, -0.0 equals 0.0. In both, sets and dicts have no order, and set and frozenset are the same type.
import { type Comparison, type ComparisonSpec, comparisonSpecSchema } from '../schema/comparison.js';
import type { CallResult, Verdict } from '../schema/execution.js';
import type { Value } from '../schema/value.js';
import { Matcher } from './matching.js';
import { Forest, type Node } from './nodes.js';
import { equalTokens } from './tokens.js';
import { isClose, isLoose, isNumber, Malformed, numberKey, type View, view } from './views.js';
import { TooManySteps, Work } from './work.js';

const byName: Record<ComparisonSpec['mode'], ComparisonSpec> = {
  lenient: comparisonSpecSchema.parse({ mode: 'lenient' }),
  strict: comparisonSpecSchema.parse({ mode: 'strict' }),
};
const parsed = new WeakMap<object, ComparisonSpec>();

/** The comparison with defaults filled in. The comparison object of a problem is parsed only once. */
export function comparisonOf(comparison: Comparison): ComparisonSpec {
  if (typeof comparison === 'string') return byName[comparison];
  const known = parsed.get(comparison);
  if (known) return known;
  const spec = comparisonSpecSchema.parse(comparison);
  parsed.set(comparison, spec);
  return spec;
}

/**
 * Compares the answer `a` with the expected value `b`. Never throws: malformed values are equal to nothing, and values
 * that take too much work are not equal.
 */
export function equalValues(a: Value, b: Value, comparison: Comparison): boolean {
  const spec = comparisonOf(comparison);
  const work = new Work();
  try {
    if (spec.text !== 'exact' && typeof a === 'string' && typeof b === 'string') {
      work.text(a.length + b.length);
      const anyCase = spec.text === 'tokens-any-case';
      return anyCase ? equalTokens(a.toLowerCase(), b.toLowerCase(), spec) : equalTokens(a, b, spec);
    }
    const equal = ordersOf[spec.order];
    return equal(a, b, spec, work) || (spec.wrapped === true && equal(a, [b], spec, work));
  } catch (error) {
    if (error instanceof Malformed || error instanceof TooManySteps) return false;
    throw error;
  }
}

type Equality = (a: Value, b: Value, spec: ComparisonSpec, work: Work) => boolean;

const ordersOf: Readonly<Record<ComparisonSpec['order'], Equality>> = {
  exact: inOrder,
  any: (a, b, spec, work) =>
    ofItems(a, b, spec, work, isSequence, (got, wanted, matcher) => matcher.equal(got, wanted)),
  'any-depth': (a, b, spec, work) => unordered(a, b, spec, work, true),
  set: (a, b, spec, work) =>
    ofItems(a, b, spec, work, isCollection, (got, wanted, matcher) => matcher.covers(got, wanted)),
};

/** Compares the items of two collections without regard to order, and other values as a whole. */
function ofItems(
  a: Value,
  b: Value,
  spec: ComparisonSpec,
  work: Work,
  isKind: (v: View) => v is Collection,
  compare: (got: Node, wanted: Node, matcher: Matcher) => boolean,
): boolean {
  const [left, right] = [view(a), view(b)];
  if (!isKind(left) || !isKind(right)) return inOrder(a, b, spec, work);
  if (spec.mode === 'strict' && left.type !== right.type) return false;
  const forest = forestOf(spec, work);
  return compare(forest.bag(left.items), forest.bag(right.items), new Matcher(spec, work));
}

/** Compares lists item by item, and sets and dicts, which have no order, through a forest. */
function inOrder(a: Value, b: Value, spec: ComparisonSpec, work: Work): boolean {
  work.part();
  const left = view(a);
  const right = view(b);
  if (spec.mode === 'strict' && left.type !== right.type) return false;
  if (isNumber(left) || isNumber(right)) {
    if (!isNumber(left) || !isNumber(right)) return false;
    return numberKey(left) === numberKey(right) || (isTolerant(spec) && isLoose(right) && isClose(left, right, spec));
  }
  if (isSequence(left) && isSequence(right))
    return (
      left.items.length === right.items.length && left.items.every((x, i) => inOrder(x, right.items[i]!, spec, work))
    );
  if ('text' in left) return right.type === left.type && 'text' in right && right.text === left.text;
  if (left.type !== right.type) return false;
  if (left.type === 'none') return true;
  return unordered(a, b, spec, work, false);
}

/** Compares without regard to order. @param lists whether nested lists also have no order */
function unordered(a: Value, b: Value, spec: ComparisonSpec, work: Work, lists: boolean): boolean {
  const forest = forestOf(spec, work, lists);
  return new Matcher(spec, work).equal(forest.node(a), forest.node(b));
}

const forestOf = (spec: ComparisonSpec, work: Work, unordered = false): Forest =>
  new Forest({ mode: spec.mode, loose: isTolerant(spec), unordered }, work);

const isTolerant = ({ mode, absolute, relative }: ComparisonSpec): boolean =>
  mode === 'lenient' && (absolute > 0 || relative > 0);

type Collection = Extract<View, { items: Value[] }>;
const isSequence = (v: View): v is Collection & { type: 'list' | 'tuple' } => v.type === 'list' || v.type === 'tuple';
const isCollection = (v: View): v is Collection => 'items' in v;

/** Judges one call. A call without a value never passes. */
export function judge(result: CallResult, expected: Value, comparison: Comparison): Verdict {
  if (result.kind !== 'value') return result.kind;
  return equalValues(result.value, expected, comparison) ? 'pass' : 'fail';
}

/** The `truth` of a job: the indices of the tests that compare only the truth value of the answer. */
export function truthTests(tests: readonly { truth?: true | undefined }[]): number[] | undefined {
  const found = tests.flatMap(({ truth }, i) => (truth ? [i] : []));
  return found.length > 0 ? found : undefined;
}

/** The `reduce` of a job: it tells whether the answer to each call equals the expected value. */
export const comparesWith =
  (expected: readonly Value[], comparison: Comparison) =>
  (answer: Value, call: number): boolean =>
    equalValues(answer, expected[call]!, comparison);

/** The verdict of a call that was compared as soon as it was read. A call without a value never passes. */
export function verdictOf(call: CallResult<boolean>): Verdict {
  if (call.kind !== 'value') return call.kind;
  return call.value ? 'pass' : 'fail';
}

/** False if every call reports a syntax error. A program that raises such an error itself only harms its author. */
export const parses = (calls: readonly CallResult<unknown>[]): boolean =>
  calls.length === 0 || calls.some((call) => call.kind !== 'error' || !SYNTAX_ERROR.test(call.message));

const SYNTAX_ERROR = /^(?:SyntaxError|IndentationError|TabError)\b/;

/** Worst first: the outcome of a program is the first of these among the verdicts of its tests. */
export const OUTCOME_ORDER = ['memory', 'timeout', 'output', 'error', 'fail', 'pass'] as const satisfies Verdict[];

/** The outcome of a program from the verdicts of its tests; 'error' if there is none. */
export function judgeProgram(verdicts: readonly Verdict[]): Verdict {
  return OUTCOME_ORDER.find((verdict) => verdicts.includes(verdict)) ?? 'error';
}

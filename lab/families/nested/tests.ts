// Draws inputs and tests of the family: baseline tests with ordinary inputs, and hidden tests with edge cases.
import { RandomStream } from '../../../core/base/random.js';
import type { TestCase } from '../../../core/schema/problem.js';
import type { Value } from '../../../core/schema/value.js';
import { type Output, sameOutcome } from '../tiny/interpret.js';
import { boundaryValue, distinctArgs, drawSubject, isHappyPath, visits } from '../tiny/tests.js';
import { type NestedReading, type NestedSpec, takesK } from './family.js';
import { interpretNested, type NestedArgs, outerArgs, resultOf } from './interpret.js';

const BASELINE_TESTS = 3;

/** Edge inputs have no list, or lists that are empty or contain the value at which the first filter changes. */
export function drawArgs(spec: NestedSpec, kind: 'typical' | 'edge', random: RandomStream): NestedArgs {
  const k = random.int(0, 5);
  const count = kind === 'edge' && random.uniform() < 0.15 ? 0 : random.choice([2, 2, 3]);
  const rows = Array.from({ length: count }, () => {
    const isEdge = kind === 'edge' && random.uniform() < 0.6;
    const row = drawSubject(spec.inner, k, isEdge ? 'edge' : 'typical', random) as number[] | string;
    return typeof row === 'string' ? row : row.slice(0, 3);
  });
  return takesK(spec) ? [rows, k] : [rows];
}

/** True if an input cannot expose a missing guard or an off-by-one error, in any list or in the values. */
function isHappyInput(spec: NestedSpec, args: NestedArgs): boolean {
  const [rows, k = 0] = args;
  return rows.every((row) => isHappyPath(spec.inner, [row, k])) && isHappyPath(spec.outer, outerArgs(spec, args));
}

/** True if a value is the one at which the second filter changes. */
function meetsBoundary(spec: NestedSpec, args: NestedArgs): boolean {
  const values = outerArgs(spec, args);
  const boundary = boundaryValue(spec.outer, values);
  return boundary !== undefined && visits(spec.outer, values, boundary);
}

const toCase = (spec: NestedSpec, args: NestedArgs): TestCase => ({
  args: [...args] as Value[],
  expected: resultOf(spec, args),
});

const idOf = ({ source, inner, outer }: NestedSpec): string => JSON.stringify([source, inner, outer]);

/** Three tests with ordinary inputs, or fewer if there are not enough such inputs. */
export function baselineTests(spec: NestedSpec): TestCase[] {
  const random = new RandomStream('nested', 'baseline', idOf(spec));
  const draw = (): NestedArgs => drawArgs(spec, 'typical', random);
  return distinctArgs(BASELINE_TESTS, draw, (args) => isHappyInput(spec, args)).map((args) => toCase(spec, args));
}

/** 8 typical inputs, 8 edge inputs and up to 4 that meet the boundary of the second step. */
export function hiddenTests(spec: NestedSpec): TestCase[] {
  const random = new RandomStream('nested', 'hidden', idOf(spec));
  const take = (count: number, kind: 'typical' | 'edge', accept?: (args: NestedArgs) => boolean): NestedArgs[] =>
    distinctArgs(count, () => drawArgs(spec, kind, random), accept);
  const inputs = [
    ...take(8, 'typical'),
    ...take(8, 'edge'),
    ...take(4, 'typical', (args) => meetsBoundary(spec, args)),
  ];
  return inputs.map((args) => toCase(spec, args));
}

/** Whether a problem has ordinary inputs, on which its results differ. */
export function isGoodSpec(spec: NestedSpec): boolean {
  const tests = baselineTests(spec);
  return tests.length === BASELINE_TESTS && new Set(tests.map(({ expected }) => JSON.stringify(expected))).size > 1;
}

/** Whether a reading gives the expected value in every hidden test. */
export const passesHidden = (spec: NestedSpec, reading: NestedReading): boolean =>
  hiddenTests(spec).every(({ args, expected }) =>
    sameOutcome(interpretNested(reading, args as unknown as NestedArgs), { value: expected as Output }),
  );

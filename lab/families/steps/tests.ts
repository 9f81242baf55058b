// Makes the tests of a chain of operations. Baseline tests are ordinary inputs for which most slips give the right answer;
// hidden tests expose every slip.
import { RandomStream } from '../../../core/base/random.js';
import type { TestCase } from '../../../core/schema/problem.js';
import type { Domain, Operation, StepValue } from './operation.js';

export interface Suite {
  baseline: TestCase[];
  hidden: TestCase[];
}

const BASELINE_TESTS = 3;
const HIDDEN_TESTS = 10;
const TYPICAL_INPUTS = 60;
const EDGE_INPUTS = 120;

/** The input, then the value after each operation. The list ends early if an operation crashes or a value becomes large. */
export function trace(operations: readonly Pick<Operation, 'run'>[], input: StepValue): StepValue[] {
  const values = [input];
  for (const { run } of operations) {
    const next = run(values.at(-1)!) as StepValue | undefined;
    if (next === undefined || (typeof next === 'number' ? Math.abs(next) > 4000 : next.length > 40)) break;
    values.push(next);
  }
  return values;
}

/** The result of a chain; undefined if an operation crashes or a value becomes large. */
export function evaluate(operations: readonly Operation[], input: StepValue): StepValue | undefined {
  const values = trace(operations, input);
  return values.length > operations.length ? (JSON.parse(JSON.stringify(values.at(-1))) as StepValue) : undefined; // JSON turns -0 into 0
}

/** A chain with a mistake in operation `at`. The operations before that operation are correct. */
interface WrongChain {
  at: number;
  rest: readonly Pick<Operation, 'run'>[];
}

/** All chains with one slip: an operation is replaced by a mistaken form of it. */
export const slipsOf = (operations: readonly Operation[]): WrongChain[] =>
  operations.flatMap(({ slips }, at) =>
    slips.map((run) => ({ at, rest: [{ run: run as Operation['run'] }, ...operations.slice(at + 1)] })),
  );

/** The chains that lack one operation. */
const shortened = (operations: readonly Operation[]): WrongChain[] =>
  operations.flatMap(({ from, to }, at) => (from === to ? [{ at, rest: operations.slice(at + 1) }] : []));

/** Whether a wrong chain gives another result than the correct chain, whose values after each operation are `values`. */
export function isExposed(
  { at, rest }: WrongChain,
  values: readonly StepValue[],
  correct = JSON.stringify(values.at(-1)),
): boolean {
  const wrong = trace(rest, values[at]!);
  return wrong.length <= rest.length || JSON.stringify(wrong.at(-1)) !== correct;
}

/** A test and the indices of the wrong chains that it exposes. */
interface Candidate {
  test: TestCase;
  exposes: Set<number>;
}

/** The tests of a chain. Undefined if some mistake is not exposed by any test, so that the chain is no good problem. */
export function chooseTests(operations: readonly Operation[]): Suite | undefined {
  const slips = slipsOf(operations);
  const wrong = [...slips, ...shortened(operations)];
  const random = new RandomStream('steps', 'tests', ...operations.map(({ name }) => name));
  const domain = operations[0]!.from;
  const points = operations.flatMap((one) => one.points);
  const assess = (inputs: readonly StepValue[], accepts = (_: StepValue): boolean => true): Candidate[] =>
    [...new Map(inputs.map((input) => [JSON.stringify(input), input])).values()].flatMap((input) => {
      const values = trace(operations, input);
      if (values.length <= operations.length || !accepts(values.at(-1)!)) return [];
      const correct = JSON.stringify(values.at(-1));
      const expected = JSON.parse(correct) as StepValue; // JSON turns -0 into 0
      const exposes = wrong.flatMap((chain, i) => (isExposed(chain, values, correct) ? [i] : []));
      return [{ test: { args: [input], expected }, exposes: new Set(exposes) }];
    });
  const typical = Array.from({ length: TYPICAL_INPUTS }, (_, i) => drawInput(domain, points, i % 3, random));
  const baseline = chooseBaseline(assess(typical, isOrdinary), slips.length);
  if (!baseline) return undefined;
  const edge = Array.from({ length: EDGE_INPUTS }, () => drawInput(domain, points, 3, random));
  const used = new Set(baseline.map(({ test }) => JSON.stringify(test.args)));
  const rest = assess([...SPECIAL[domain], ...edge, ...typical]).filter(
    ({ test }) => !used.has(JSON.stringify(test.args)),
  );
  const hidden = chooseHidden(rest, wrong.length);
  return hidden && { baseline: baseline.map(({ test }) => test), hidden: hidden.map(({ test }) => test) };
}

const isOrdinary = (result: StepValue): boolean =>
  typeof result === 'number' ? result > 0 || result < -1 : result.length > 0;

/** Three tests with different answers that expose as few slips as possible, at most half of them. */
function chooseBaseline(candidates: readonly Candidate[], slips: number): Candidate[] | undefined {
  const chosen: Candidate[] = [];
  const exposed = new Set<number>();
  const cost = ({ exposes }: Candidate): number => [...exposes].filter((i) => i < slips && !exposed.has(i)).length;
  while (chosen.length < BASELINE_TESTS) {
    const answers = new Set(chosen.map(({ test }) => JSON.stringify(test.expected)));
    const left = candidates.filter((one) => !chosen.includes(one));
    const fresh = left.filter(({ test }) => !answers.has(JSON.stringify(test.expected)));
    const pool = chosen.length < 2 ? fresh : fresh.length > 0 ? fresh : left;
    if (pool.length === 0) return undefined;
    const best = pool.reduce((a, b) => (cost(b) < cost(a) ? b : a));
    chosen.push(best);
    for (const i of best.exposes) if (i < slips) exposed.add(i);
  }
  return exposed.size * 2 <= slips ? chosen : undefined;
}

/** Tests that together expose every wrong chain, then further tests, each of which exposes as many as possible. */
function chooseHidden(candidates: readonly Candidate[], wrong: number): Candidate[] | undefined {
  const times = new Map<number, number>(); // wrong chain → number of tests that expose it
  const value = ({ exposes }: Candidate): number =>
    [...exposes].reduce((total, i) => total + ([100, 10, 1][times.get(i) ?? 0] ?? 0), 0);
  const chosen: Candidate[] = [];
  while (chosen.length < HIDDEN_TESTS) {
    const left = candidates.filter((one) => !chosen.includes(one));
    if (left.length === 0) return undefined;
    const best = left.reduce((a, b) => (value(b) > value(a) ? b : a));
    chosen.push(best);
    for (const i of best.exposes) times.set(i, (times.get(i) ?? 0) + 1);
  }
  return times.size === wrong ? chosen : undefined;
}

const SPECIAL: Record<Domain, StepValue[]> = {
  list: [[], [0], [-2], [4, 4]],
  text: ['', ' ', 'A', 'zz', 'abccba'],
  number: [0, 1, -1],
};
const WORDS = ['apple', 'book', 'cat', 'data', 'echo', 'fish', 'green', 'house', 'ink', 'moon', 'river', 'stone'];
const LETTERS = [...'aaeioAEObbcxyzBZ  01279#'];

/** Styles 0 to 2 are increasingly varied ordinary inputs; style 3 is an edge case. */
function drawInput(domain: Domain, points: readonly number[], style: number, random: RandomStream): StepValue {
  if (domain === 'number') {
    const near = [...points.map((k) => k + random.int(-1, 1)), ...points.map((k) => -k), random.int(-9, 9)];
    return style < 3
      ? random.int(2, 20 * (style + 1))
      : random.choice([...near, random.int(-130, 130), random.int(-999, 999)]);
  }
  if (domain === 'list') {
    const length = style < 3 ? random.int(3, 5) : random.int(1, 6);
    const pool = [...points.flatMap((k) => [k - 1, k, k + 1, -k]), 0, 1, -1, random.int(-9, 9), random.int(-9, 9)];
    const draw = [
      () => random.int(1, 9),
      () => random.int(2, 15),
      () => random.choice([-7, -5, -4, -2, 2, 3, 5, 6, 8, 9]),
      () => random.choice(pool),
    ][style]!;
    return Array.from({ length }, draw);
  }
  const text = Array.from({ length: style === 3 ? random.int(2, 8) : 0 }, () => random.choice(LETTERS)).join('');
  const word = (): string => random.choice(WORDS);
  const capital = (): string => word().replace(/^./, (c) => (random.uniform() < 0.5 ? c.toUpperCase() : c));
  const number = (): string => random.choice([' ', '-', `${random.int(1, 8)}`, `${random.int(12, 876)}`]);
  return [word(), `${word()} ${word()}`, capital() + number() + capital(), text][style]!;
}

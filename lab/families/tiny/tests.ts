// Inputs and tests of the family: baseline tests of the happy path, hidden tests with edge cases, and the tests that the
// discriminator learns to write, some of which are wrong.
import { RandomStream } from '../../../core/random.js';
import type { TestCase } from '../../../core/schema/problem.js';
import { argumentNames, isGuarded, type Reading, type Spec, type TinyProblem } from './family.js';
import { drawReading, TEST_FLAWS, withMovedComparison } from './flaws.js';
import {
  type Args,
  type Item,
  interpret,
  keptItems,
  type Outcome,
  type Output,
  outputOf,
  resultOf,
  sameOutcome,
  usedItems,
} from './interpret.js';

export const BASELINE_TESTS = 3;
const HIDDEN_TYPICAL = 8;
const HIDDEN_EDGE = 12;

const LETTERS = [...'aabbeeioAEBT12']; // common letters twice
const TRIES = 400;

/** The value at which the filter changes, for edge inputs; 0 if it has no threshold. */
const turningPoint = (spec: Spec, k: number): number =>
  spec.threshold === 'k' ? k : typeof spec.threshold === 'number' ? spec.threshold : 0;

/** Typical inputs are not empty. Edge inputs are empty, or contain the value at which the filter changes. */
export function drawArgs(spec: Spec, kind: 'typical' | 'edge', random: RandomStream): Args {
  const k = random.int(0, 5);
  const subject = drawSubject(spec, k, kind, random);
  return argumentNames(spec).length === 2 ? [subject, k] : [subject];
}

/** The first argument. */
export function drawSubject(spec: Spec, k: number, kind: 'typical' | 'edge', random: RandomStream): Args[0] {
  const edge = kind === 'edge';
  const point = turningPoint(spec, k);
  if (spec.source === 'range') return edge ? random.choice([0, 1, point, point + 1]) : random.int(1, 8);
  if (spec.source === 'list') {
    const empty = edge && random.uniform() < 0.4;
    const numbers = Array.from({ length: empty ? 0 : random.choice([1, 2, 3, 3, 4]) }, () => random.int(-5, 9));
    if (edge && numbers.length > 0) numbers[random.int(0, numbers.length - 1)] = point;
    return numbers;
  }
  const empty = edge && random.uniform() < 0.5;
  return Array.from({ length: empty ? 0 : random.int(1, 4) }, () => random.choice(LETTERS)).join('');
}

/** The number that '>' and '>=' treat differently (0 for signs); undefined if the filter has none. */
export function boundaryValue(spec: Spec, args: Args): number | undefined {
  if (spec.filter === 'pos' || spec.filter === 'neg') return 0;
  if (spec.source === 'str' || spec.threshold === null || spec.filter === 'div') return undefined;
  return spec.threshold === 'k' ? args[1] : (spec.threshold as number);
}

export function visits(spec: Spec, args: Args, value: number): boolean {
  const [subject] = args;
  if (spec.source === 'range') return value >= 1 && value <= (subject as number);
  return (subject as number[]).includes(value);
}

/** True if something is selected and no element is the boundary value: it shows neither a missing guard nor an off-by-one. */
export function isHappyPath(spec: Spec, args: Args): boolean {
  if (keptItems(spec, args).length === 0) return false;
  const boundary = boundaryValue(spec, args);
  if (boundary !== undefined && visits(spec, args, boundary)) return false;
  const truth = interpret(spec, args);
  const moved = withMovedComparison(spec);
  const blind = [{ ...spec, noGuard: isGuarded(spec) }, ...(moved ? [moved] : [])];
  return blind.every((reading) => sameOutcome(truth, interpret(reading, args)));
}

const toCase = (spec: Spec, args: Args): TestCase => ({ args: [...args], expected: resultOf(spec, args) });

/** Up to `wanted` distinct inputs that `accept` takes. */
export function distinctArgs<A>(wanted: number, draw: () => A, accept: (args: A) => boolean = () => true): A[] {
  const found = new Map<string, A>();
  for (let tries = 0; tries < TRIES && found.size < wanted; tries++) {
    const args = draw();
    if (accept(args)) found.set(JSON.stringify(args), args);
  }
  return [...found.values()];
}

/** Three tests of the happy path, or at least one if a range has fewer such inputs. */
export function baselineTests(problem: TinyProblem): TestCase[] {
  const random = new RandomStream('tiny', 'baseline', problem.id);
  return distinctArgs(
    BASELINE_TESTS,
    () => drawArgs(problem, 'typical', random),
    (args) => isHappyPath(problem, args),
  ).map((args) => toCase(problem, args));
}

/** 8 typical and 12 edge inputs, repeated if there are fewer distinct ones. */
export function hiddenTests(problem: TinyProblem): TestCase[] {
  const random = new RandomStream('tiny', 'hidden', problem.id);
  const take = (count: number, kind: 'typical' | 'edge'): Args[] => {
    const found = distinctArgs(count, () => drawArgs(problem, kind, random));
    return Array.from({ length: count }, (_, i) => found[i % found.length]!);
  };
  return [...take(HIDDEN_TYPICAL, 'typical'), ...take(HIDDEN_EDGE, 'edge')].map((args) => toCase(problem, args));
}

/** Whether a reading gives the expected value in every hidden test. */
export function passesHidden(problem: TinyProblem, reading: Reading): boolean {
  return hiddenTests(problem).every((test) => {
    const outcome = interpret(reading, test.args as unknown as Args);
    return sameOutcome(outcome, { value: test.expected as Output });
  });
}

/** A Python literal. */
export function literalOf(value: Output): string {
  if (typeof value === 'string') return `"${value}"`;
  if (Array.isArray(value)) return `[${value.map(literalOf).join(', ')}]`;
  return `${value}`;
}

const itemsOf = (spec: Spec, items: Item[]): string => literalOf(spec.source === 'str' ? items.join('') : items);

/** A comment with the intermediate results, then the test: '# [5, 0] keep [5] use [6]' and '(([5, 0],), 6)'. */
export function renderTest(reading: Reading, args: Args, expected: Output): string {
  const inputs = args.map(literalOf).join(', ');
  const comment = [`# ${inputs} keep ${itemsOf(reading, keptItems(reading, args))}`];
  const used = usedItems(reading, args);
  if (reading.map !== 'id' && reading.reduce !== 'count') comment.push(`use ${itemsOf(reading, used)}`);
  if (reading.reduce === 'sum') {
    let total = 0;
    comment.push(`add ${literalOf((used as number[]).map((x) => (total += x)))}`);
  }
  return `${comment.join(' ')}\n((${inputs}${args.length === 1 ? ',' : ''}), ${literalOf(expected)})`;
}

/** A wrong last value: off by one, or one element short. */
function slip(value: Output, random: RandomStream): Output {
  const direction = random.choice([-1, 1]);
  if (typeof value === 'number') return value + direction;
  if (value.length > 0) return value.slice(0, -1);
  return typeof value === 'string' ? 'a' : [0];
}

const TESTS_PER_TURN = 2;

/** How a family draws, computes and writes a test. */
export interface TestWriter<S, R, A> {
  misread: number; // share of tests from a flawed reading
  slipped: number; // share of tests with a wrong last value
  edge: number; // share of edge inputs
  drawArgs(spec: S, kind: 'typical' | 'edge', random: RandomStream): A;
  drawReading(spec: S, random: RandomStream): { reading: R; flaws: readonly unknown[] }; // it cannot fail
  interpret(reading: S | R, args: A): Outcome;
  renderTest(reading: S | R, args: A, expected: Output): string;
}

/** One answer of the discriminator. `flawed` counts the tests with a wrong expected value. */
export function drawTests<S, R, A>(
  writer: TestWriter<S, R, A>,
  spec: S,
  random: RandomStream,
): { text: string; tests: number; flawed: number } {
  const tests: string[] = [];
  let flawed = 0;
  for (let i = 0; i < TESTS_PER_TURN; i++) {
    const args = writer.drawArgs(spec, random.uniform() < writer.edge ? 'edge' : 'typical', random);
    const fate = random.uniform();
    const reading = fate < writer.misread ? misread(writer, spec, random) : spec;
    const truth = writer.interpret(spec, args);
    const outcome = writer.interpret(reading, args);
    let expected = outputOf('value' in outcome ? outcome : truth);
    if (fate >= writer.misread && fate < writer.misread + writer.slipped) expected = slip(expected, random);
    tests.push(writer.renderTest(reading, args, expected));
    if (!sameOutcome({ value: expected }, truth)) flawed++;
  }
  return { text: tests.join('\n'), tests: TESTS_PER_TURN, flawed };
}

/** A reading with a flaw, if one of six draws has one. */
function misread<S, R, A>(writer: TestWriter<S, R, A>, spec: S, random: RandomStream): S | R {
  let reading: S | R = spec;
  for (let tries = 0; tries < 6; tries++) {
    const drawn = writer.drawReading(spec, random);
    reading = drawn.reading;
    if (drawn.flaws.length > 0) break;
  }
  return reading;
}

const WRITER: TestWriter<Spec, Reading, Args> = {
  misread: 0.15,
  slipped: 0.08,
  edge: 0.12,
  drawReading: (spec, random) => drawReading(spec, TEST_FLAWS, random),
  drawArgs,
  interpret,
  renderTest,
};

export const drawTestTurn = (problem: TinyProblem, random: RandomStream) => drawTests(WRITER, problem, random);

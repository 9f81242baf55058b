// Draws inputs and tests of the family: baseline tests with ordinary inputs, and hidden tests with edge cases.
import { RandomStream } from '../../../core/base/random.js';
import type { TestCase } from '../../../core/schema/problem.js';
import { argumentNames, isGuarded, type Reading, type Spec, type TinyProblem } from './family.js';
import { withMovedComparison } from './flaws.js';
import { type Args, interpret, keptItems, type Output, resultOf, sameOutcome } from './interpret.js';

const BASELINE_TESTS = 3;
const HIDDEN_TYPICAL = 8;
const HIDDEN_EDGE = 12;

const LETTERS = [...'aabbeeioAEBT12']; // common letters occur twice
const TRIES = 400;

/** The value at which the filter changes, for edge inputs; 0 if the filter has no threshold. */
const turningPoint = (spec: Spec, k: number): number =>
  spec.threshold === 'k' ? k : typeof spec.threshold === 'number' ? spec.threshold : 0;

/** Typical inputs are not empty. Edge inputs are empty, or contain the value at which the filter changes. */
export function drawArgs(spec: Spec, kind: 'typical' | 'edge', random: RandomStream): Args {
  const k = random.int(0, 5);
  const subject = drawSubject(spec, k, kind, random);
  return argumentNames(spec).length === 2 ? [subject, k] : [subject];
}

/** Draws the first argument. */
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

/** True if an input selects something and has no boundary value, so it exposes neither a missing guard nor an off-by-one error. */
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

/** Draws up to `wanted` distinct inputs for which `accept` is true. */
export function distinctArgs<A>(wanted: number, draw: () => A, accept: (args: A) => boolean = () => true): A[] {
  const found = new Map<string, A>();
  for (let tries = 0; tries < TRIES && found.size < wanted; tries++) {
    const args = draw();
    if (accept(args)) found.set(JSON.stringify(args), args);
  }
  return [...found.values()];
}

/** Three tests with ordinary inputs, or at least one if a range has fewer such inputs. */
export function baselineTests(problem: TinyProblem): TestCase[] {
  const random = new RandomStream('tiny', 'baseline', problem.id);
  return distinctArgs(
    BASELINE_TESTS,
    () => drawArgs(problem, 'typical', random),
    (args) => isHappyPath(problem, args),
  ).map((args) => toCase(problem, args));
}

/** 8 typical and 12 edge inputs. Inputs repeat if there are fewer distinct ones. */
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

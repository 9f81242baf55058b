// What an evaluation measures. docs/method.md defines every metric. All are fractions in 0..1, except for differences.
import { passAtK } from '../rl/scores.js';
import type { ProblemResult } from '../schema/evaluation.js';

export const ATTEMPTS = 5; // the samples that pass@5 draws, and the tests that the mutation score counts

/** A statistic of several problems; undefined if it cannot be computed for them. */
export type Metric = (problems: readonly ProblemResult[]) => number | undefined;

const total = (problems: readonly ProblemResult[], figure: Figure): number =>
  problems.reduce((sum, problem) => sum + (typeof figure === 'string' ? problem[figure] : figure(problem)), 0);

/** A number of a problem: a field of its result, or a function of it. */
type Figure = Exclude<keyof ProblemResult, 'id' | 'attack'> | ((problem: ProblemResult) => number);

const ratio =
  (part: Figure, whole: Figure): Metric =>
  (problems) => {
    const count = total(problems, whole);
    return count === 0 ? undefined : total(problems, part) / count;
  };

const passAt =
  (k: number): Metric =>
  (problems) =>
    problems.length === 0 || problems.some(({ samples }) => samples < k)
      ? undefined
      : total(problems, ({ samples, solved }) => passAtK(samples, solved, k)) / problems.length;

const combined =
  (a: Metric, b: Metric, combine: (a: number, b: number) => number): Metric =>
  (problems) => {
    const [left, right] = [a(problems), b(problems)];
    return left === undefined || right === undefined ? undefined : combine(left, right);
  };

const passAt1 = passAt(1);
const testValidity = ratio('valid', 'written');
const mutationScore = ratio('killed', 'mutants');
const bestOfN = ratio('chosen', () => 1);

export const METRICS = {
  'pass@1': passAt1,
  'pass@5': passAt(ATTEMPTS),
  'baseline pass rate': ratio('baseline', 'samples'),
  'best of n': bestOfN,
  'best-of-n lift': combined(bestOfN, passAt1, (best, one) => best - one),
  'distinct programs': ratio('programs', 'samples'),
  'test validity': testValidity,
  'distinct tests': ratio('inputs', 'written'),
  'attack rate': ratio(
    ({ attack }) => Number(attack === 'caught'),
    ({ attack }) => Number(attack !== 'none'),
  ),
  'mutation score': mutationScore,
  mul: combined(testValidity, mutationScore, (valid, killed) => valid * killed),
  coherence: ratio('coherence', 'transitions'),
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;
export const METRIC_NAMES = Object.keys(METRICS) as MetricName[];

/** The share of the words of `later` that `earlier` also has (0 to 1): how much a stage follows from the stage before it. */
export function overlap(earlier: string, later: string): number {
  const [known, words] = [wordsOf(earlier), wordsOf(later)];
  return words.size === 0 ? 0 : [...words].filter((word) => known.has(word)).length / words.size;
}

const wordsOf = (text: string): Set<string> => new Set(text.toLowerCase().match(/[\p{L}_][\p{L}\p{N}_]+/gu) ?? []);

// Rates that are logged with the rewards. Each is a fraction in 0..1, or undefined if its denominator is zero.
import type { Verdict } from '../schema/execution.js';
import { countPassed, type JudgedTurn } from './rule.js';
import type { SuiteTest } from './suite.js';

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
const ratio = (part: number, whole: number): number | undefined => (whole === 0 ? undefined : part / whole);

export interface JudgedProgram {
  suite: readonly SuiteTest[];
  verdicts: readonly Verdict[];
}

/** The mean pass rate of programs by the origin of the tests. Each program counts once, whatever the size of its suite. */
export function passRates(programs: readonly JudgedProgram[]) {
  const rate = (includes: (test: SuiteTest) => boolean): number | undefined => {
    const rates = programs.flatMap(({ suite, verdicts }) => {
      const included = verdicts.filter((_, i) => includes(suite[i]!));
      return ratio(countPassed(included), included.length) ?? [];
    });
    return ratio(sumOf(rates), rates.length);
  };
  return {
    combined: rate(() => true),
    baseline: rate(({ origin }) => origin === 'baseline'),
    generated: rate(({ origin }) => origin === 'generated'), // only generated tests that joined the suite
  };
}

/**
 * The share of valid tests and the share of distinct inputs among all tests, including lost ones. Also the share of turns that
 * catch a bug: the program fails a valid test of the turn.
 * @param groups the turns of each group, whose tests are for the same problem
 */
export function testRates(groups: readonly JudgedTurn[][]) {
  const turns = groups.flat();
  const tests = turns.flatMap((turn) => turn.tests);
  const unique = (group: JudgedTurn[]): number =>
    new Set(group.flatMap((turn) => turn.tests.map((t) => t.inputs))).size;
  const catching = turns.filter((turn) => turn.tests.some((test) => test.valid && test.caught));
  const written = tests.length + sumOf(turns.map((turn) => turn.lost));
  return {
    validity: ratio(tests.filter((test) => test.valid).length, written),
    uniqueInputs: ratio(sumOf(groups.map(unique)), written),
    bugCatchRate: ratio(catching.length, turns.length),
  };
}

/**
 * Standard errors of means over groups, as groups are independent and their samples are not: the standard deviation of the
 * groups' own rates over the square root of their number. Leaves out rates that fewer than two groups have.
 */
export function standardErrors(groups: readonly object[]): Record<string, number> {
  const values = new Map<string, number[]>();
  for (const group of groups)
    for (const [name, value] of Object.entries(group))
      if (Number.isFinite(value)) values.set(name, [...(values.get(name) ?? []), value]);
  const errors = [...values].flatMap(([name, own]) => {
    if (own.length < 2) return [];
    const center = mean(own);
    const variance = sumOf(own.map((value) => (value - center) ** 2)) / (own.length - 1);
    return [[name, Math.sqrt(variance / own.length)] as const];
  });
  return Object.fromEntries(errors);
}

/** The mean of the values; 0 if there are none. */
export const mean = (values: readonly number[]): number => ratio(sumOf(values), values.length) ?? 0;

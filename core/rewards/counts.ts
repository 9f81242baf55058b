// Rates that are logged beside rewards. Each is a share in 0..1, undefined where there is nothing to divide by.
import type { TypeVerdict } from '../schema/execution.js';
import type { JudgedTurn } from './rewards.js';
import type { SuiteRates } from './suite.js';

const share = (part: number, whole: number): number | undefined => (whole === 0 ? undefined : part / whole);

/** Of programs whose types were checked, those without an error; a missing program does not check. */
export const typeCheckRate = (verdicts: readonly TypeVerdict[]): number | undefined =>
  share(verdicts.filter((verdict) => verdict === 'ok').length, verdicts.length);

/** Mean of what is defined. */
export function meanOf(values: readonly (number | undefined)[]): number | undefined {
  const defined = values.filter((value) => value !== undefined);
  return share(
    defined.reduce((sum, value) => sum + value, 0),
    defined.length,
  );
}

/** Over programs: each counts once, whatever the size of its suite. */
export function meanRates(rates: readonly SuiteRates[]): SuiteRates {
  return {
    combined: meanOf(rates.map((rate) => rate.combined)),
    baseline: meanOf(rates.map((rate) => rate.baseline)),
    generated: meanOf(rates.map((rate) => rate.generated)),
  };
}

export interface TestCounts {
  tests: number; // written, lost ones included
  valid: number;
  caught: number; // valid ones that the program fails
  turns: number;
  catchingTurns: number; // with at least one such test
  distinctInputs: number;
}

export function countTests(turns: readonly JudgedTurn[]): TestCounts {
  const tests = turns.flatMap((turn) => turn.tests);
  return {
    tests: tests.length + turns.reduce((sum, turn) => sum + turn.lost, 0),
    valid: tests.filter((test) => test.valid).length,
    caught: tests.filter((test) => test.caught).length,
    turns: turns.length,
    catchingTurns: turns.filter((turn) => turn.tests.some((test) => test.caught)).length,
    distinctInputs: new Set(tests.map((test) => test.inputs)).size,
  };
}

export interface TestRates {
  validity: number | undefined; // valid tests among all
  bugCatchRate: number | undefined; // failed by the program, among valid tests
  uniqueInputs: number | undefined; // distinct inputs among all tests
}

export function testRates(counts: TestCounts): TestRates {
  return {
    validity: share(counts.valid, counts.tests),
    bugCatchRate: share(counts.caught, counts.valid),
    uniqueInputs: share(counts.distinctInputs, counts.tests),
  };
}

/** Of the faulty chains, the share that a valid test exposes (the bug-catch rate of evaluations). */
export function exposedShare(chains: readonly { faulty: boolean; turn: JudgedTurn }[]): number | undefined {
  const faulty = chains.filter((chain) => chain.faulty);
  return share(faulty.filter(({ turn }) => turn.tests.some((test) => test.caught)).length, faulty.length);
}

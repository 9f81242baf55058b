// Why a sample has its reward, in one word. Every step records how many of its samples have each outcome.
import type { Verdict } from '../schema/execution.js';
import type { JudgedTurn } from './rule.js';

/** Outcomes of programs, then outcomes of discriminator turns. `empty` is an outcome of both. */
export const OUTCOMES = {
  passed: 'a program passes its whole suite',
  failed: 'a program fails a test',
  timeout: 'a program exceeds the time limit in a test',
  untested: 'a program has no test',
  unparsed: 'a program has a syntax error',
  caught: 'a valid test of a turn fails the program',
  valid: 'a turn has a valid test, but none fails the program',
  invalid: 'no test of a turn is valid',
  empty: 'an answer has no program, or no readable test',
} as const;
export type Outcome = keyof typeof OUTCOMES;
export const OUTCOME_NAMES = Object.keys(OUTCOMES) as Outcome[];
export type OutcomeCounts = Partial<Record<Outcome, number>>;

export function programOutcome(
  { empty, unparsed }: { empty: boolean; unparsed?: true },
  verdicts: readonly Verdict[],
): Outcome {
  if (empty) return 'empty';
  if (unparsed) return 'unparsed';
  if (verdicts.length === 0) return 'untested';
  if (verdicts.every((verdict) => verdict === 'pass')) return 'passed';
  return verdicts.includes('timeout') ? 'timeout' : 'failed';
}

export function turnOutcome({ tests }: JudgedTurn): Outcome {
  if (tests.length === 0) return 'empty';
  if (tests.some(({ valid, caught }) => valid && caught)) return 'caught';
  return tests.some(({ valid }) => valid) ? 'valid' : 'invalid';
}

export function countOutcomes(outcomes: readonly Outcome[]): OutcomeCounts {
  const counts: OutcomeCounts = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

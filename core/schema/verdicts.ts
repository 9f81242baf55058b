// What the sandbox says about programs and the tests that were written for them.
import type { SuiteTest } from '../rewards/suite.js';
import type { Verdict } from './execution.js';
import type { Value } from './value.js';

/** A generated test after validation. */
export interface ValidatedTest {
  suite: number | null; // index in the suite; null: not part of it, because it is invalid
  args: Value[];
  expected?: Value; // absent: the reference has no value for an input
  corrected?: true; // the test is invalid: `expected` is the reference's answer, not the written value
}

export interface ValidatedTurn {
  turn: number; // index in TestBatch.turns
  tests: ValidatedTest[];
  lost: number; // unreadable or missing tests
}

/** How the programs of a problem voted on the answers to generated inputs, see core/rewards/agreement.ts. */
export interface VoteCounts {
  inputs: number;
  dropped: number; // inputs without an answer that counts
  agreement: number; // sum of the agreement on each input
  given: number; // votes on given tests
  wrong: number; // wrong votes on given tests
}

/** One suite and the verdicts of its candidates: all samples of a problem, or the chain of a target, then perhaps others. */
export interface SuiteVerdicts {
  problemId: string;
  candidates: { sample: number; empty: boolean; unparsed?: true }[]; // unparsed: the program has a syntax error
  suite: SuiteTest[]; // baseline or hidden tests (origin 'baseline'), then valid generated ones
  verdicts: Verdict[][]; // one row per candidate, one column per test of the suite
  turns: ValidatedTurn[];
  votes?: VoteCounts; // absent: the reference answers
  mutants?: { count: number; kills: number[][] }; // mutants of the reference; `kills`: which fail each test of the suite
}

// What the sandbox says about programs and the tests that were written for them.
import type { SuiteTest } from '../rewards/suite.js';
import type { Verdict } from './execution.js';
import type { Value } from './value.js';

/** A generated test after validation. */
export interface ValidatedTest {
  suite: number | null; // index in the suite; null: not part of it, because it is invalid
  args: Value[];
  expected?: Value; // absent: the reference has no value for an input
  corrected?: true; // it is invalid: `expected` is the reference's, not what was written
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
  agreement: number; // sum over the inputs
  given: number; // votes on given tests
  wrong: number; // of these
}

/** One suite and the verdicts of its candidates: all samples of a problem, or the one chain of a target. */
export interface SuiteVerdicts {
  problemId: string;
  candidates: { sample: number; empty: boolean; unparsed?: true }[]; // unparsed: the program has a syntax error
  suite: SuiteTest[]; // baseline or hidden tests (origin 'baseline'), then valid generated ones
  verdicts: Verdict[][]; // candidate × suite
  turns: ValidatedTurn[];
  votes?: VoteCounts; // absent: the reference answers
  mutants?: { count: number; kills: number[][] }; // of the reference; those that fail each test of the suite
}

// Solves problems with the base model or a checkpoint: the stage chain, optionally tests for every stage, and verdicts.
import type { SolveProblemsInput } from '../activities/types.js';
import { plainFailure } from './failures.js';
import { temporalActs } from './proxies.js';
import { type SolveProblemsResult, solve } from './steps/solving.js';

export { type SolveProblemsResult, solve };

export async function solveProblems(input: SolveProblemsInput = {}): Promise<SolveProblemsResult> {
  try {
    return await solve(temporalActs(), input);
  } catch (error) {
    throw plainFailure(error);
  }
}

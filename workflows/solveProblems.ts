// Solves problems with the base model or a checkpoint: the stage chain, optionally tests for each stage, and verdicts.
import type { Ref } from '../core/base/ref.js';
import type { Chain, TestBatch } from '../core/schema/chain.js';
import type { ChainView } from '../core/schema/chainView.js';
import type { Rejected } from '../core/schema/problem.js';
import type { Solution, SolveProblemsInput } from '../core/schema/solving.js';
import type { SuiteVerdicts } from '../core/schema/verdicts.js';
import type { Call } from '../method/activity.js';
import { collectSolutions, executeSuite } from '../method/judge.js';
import { type PrepareSolvingInput, prepareSolving } from '../method/prepare.js';
import { generateChains, generateTests } from '../method/sample.js';
import { unwrapFailure } from './failures.js';
import { temporalCall } from './layers.js';

export interface SolveProblemsResult {
  solved: number; // the number of problems with a sample that passes all tests of the problem
  problems: number;
  solutions: Ref<Solution[]>;
  skipped?: Ref<Rejected[]>; // problems that cannot be used, and inputs that were left out
  chains: Ref<Chain[]>;
  verdicts: Ref<SuiteVerdicts[]>;
  views: Ref<ChainView[]>; // the chains in a form for people
  tests?: Ref<TestBatch>;
}

export async function solveProblems(input: SolveProblemsInput = {}): Promise<SolveProblemsResult> {
  try {
    return await solve(temporalCall(), input);
  } catch (error) {
    throw unwrapFailure(error);
  }
}

export async function solve(call: Call, input: PrepareSolvingInput): Promise<SolveProblemsResult> {
  const prepared = await call(prepareSolving, input);
  const { run, stages, generator, discriminator, skipped } = prepared;
  const batch = { kind: 'solve', samples: input.samples ?? 1, temperature: input.temperature ?? 0 } as const;
  const { chains } = await call(generateChains, { run, batch, stages, ...generator });
  const targets = { kind: 'all-stages', chains } as const;
  const written = input.tests ? await call(generateTests, { run, targets, samples: 1, ...discriminator }) : undefined;
  const tests = written && { tests: written.tests };
  const { verdicts } = await call(executeSuite, { run, per: 'problem', suite: 'baseline', chains, ...tests });
  const { solutions, views, solved, problems } = await call(collectSolutions, { run, chains, verdicts, ...tests });
  return { solved, problems, solutions, ...(skipped && { skipped }), views, chains, verdicts, ...tests };
}

// Solves problems with the base model or a checkpoint: the stage chain, optionally tests for each stage, and verdicts.
import type { Activities } from '../activities/index.js';
import type { PrepareSolvingInput, SolveProblemsResult } from '../activities/types.js';
import type { SolveProblemsInput } from '../core/schema/solving.js';
import { createActivityProxies } from './activities.js';
import { generateChains } from './chains.js';
import { unwrapFailure } from './failures.js';

export async function solveProblems(input: SolveProblemsInput = {}): Promise<SolveProblemsResult> {
  try {
    return await solve(createActivityProxies(), input);
  } catch (error) {
    throw unwrapFailure(error);
  }
}

export async function solve(activities: Activities, input: PrepareSolvingInput): Promise<SolveProblemsResult> {
  const prepared = await activities.prepareSolving(input);
  const { run, stages, selfRepair, generator, discriminator, skipped } = prepared;
  const batch = { kind: 'solve', samples: input.samples ?? 1, temperature: input.temperature ?? 0 } as const;
  const { chains } = await generateChains(activities, { run, batch, stages, ...generator }, selfRepair);
  const targets = { kind: 'all-stages', chains } as const;
  const written = input.tests
    ? await activities.generateTests({ run, targets, samples: 1, ...discriminator })
    : undefined;
  const tests = written && { tests: written.tests };
  const { verdicts } = await activities.executeSuite({ run, per: 'problem', suite: 'baseline', chains, ...tests });
  const { solutions, views, solved, problems } = await activities.collectSolutions({ run, chains, verdicts, ...tests });
  return { solved, problems, solutions, ...(skipped && { skipped }), views, chains, verdicts, ...tests };
}

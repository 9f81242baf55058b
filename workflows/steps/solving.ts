// Solving a batch of problems: the stage chain, optionally tests for every stage, and verdicts. What `solveProblems`
// does, and what a training run ends with to show one chain of its best checkpoint.
import type { SolveProblemsInput } from '../../activities/types.js';
import { STAGES } from '../../core/schema/chain.js';
import type { Acts } from '../acts.js';
import { sampleChains } from './sampling.js';

export interface SolveProblemsResult {
  solved: number; // problems with a sample that passes all its tests
  problems: number;
  solutions: string; // digest of Solution[]: programs and how many tests they pass
  chains: string; // digest of Chain[]
  verdicts: string; // digest of SuiteVerdicts[]
  views: string; // digest of ChainView[]: answers, tests, verdicts and rewards for people
  tests?: string; // digest of TestBatch
}

export async function solve(acts: Acts, input: SolveProblemsInput): Promise<SolveProblemsResult> {
  const { run, stages = [...STAGES], generator, discriminator } = await acts.prepareSolving(input);
  const batch = { kind: 'solve', samples: input.samples ?? 1, temperature: input.temperature ?? 0 } as const;
  const { chains } = await sampleChains({ acts, run, config: { stages } }, batch, generator.adapter);
  const written = input.tests
    ? await acts.generateTests({
        run,
        targets: { kind: 'all-stages', chains },
        samples: 1,
        adapter: discriminator.adapter,
      })
    : undefined;
  const { verdicts } = await acts.executeSuite({
    run,
    per: 'problem',
    suite: 'baseline',
    chains,
    tests: written?.tests,
  });
  const { solutions, views, solved, problems } = await acts.collectSolutions({
    run,
    chains,
    verdicts,
    ...(written ? { tests: written.tests } : {}),
  });
  return { solved, problems, solutions, views, chains, verdicts, ...(written ? { tests: written.tests } : {}) };
}

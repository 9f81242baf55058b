// Runs mutants of references on suites: a test that no mutant fails checks little.
import type { RunConfig } from '../../core/schema/config.js';
import type { Problem } from '../../core/schema/problem.js';
import type { SuiteVerdicts } from '../../core/schema/verdicts.js';
import { judgeSuites, type SuiteJob } from '../../sandbox/judgeSuites.js';
import { mutantsOf } from '../../sandbox/mutants.js';
import { batchOptions, type Scope } from '../scope.js';

/** Adds which mutants of its problem's reference fail each test of a suite. `problems[i]` belongs to `judged[i]`. */
export async function withMutants(
  scope: Scope,
  config: RunConfig,
  problems: readonly Problem[],
  judged: readonly SuiteVerdicts[],
  limit: number,
): Promise<{ judged: SuiteVerdicts[]; executions: number }> {
  const sandbox = await scope.deps.sandbox(config);
  const options = batchOptions(scope);
  const references = [...new Set(problems.flatMap(({ referenceSolution }) => referenceSolution ?? []))];
  const mutants = await mutantsOf(sandbox, references, limit, options);
  const mutantsOfReference = new Map(references.map((reference, i) => [reference, mutants[i]!]));
  const mutantsOfProblem = ({ referenceSolution = '' }: Problem): string[] =>
    mutantsOfReference.get(referenceSolution) ?? [];
  const jobs = judged.flatMap(({ suite }, t) => {
    const problem = problems[t]!;
    const tests = suite.map(({ test }) => test);
    if (tests.length === 0) return [];
    return mutantsOfProblem(problem).map((code, m): SuiteJob & { task: number; mutant: number } => ({
      id: `mutant:${t}:${m}`,
      task: t,
      mutant: m,
      code,
      problem,
      tests,
      limits: config.limits,
    }));
  });
  const results = await judgeSuites(sandbox, jobs, options);
  const kills = judged.map(({ suite }) => suite.map((): number[] => []));
  jobs.forEach(({ task, mutant }, j) => {
    results[j]!.verdicts.forEach((verdict, i) => {
      if (verdict !== 'pass') kills[task]![i]!.push(mutant);
    });
  });
  return {
    judged: judged.map((one, t) => {
      const count = mutantsOfProblem(problems[t]!).length;
      return { ...one, mutants: { count, kills: kills[t]! } };
    }),
    executions: references.length + jobs.length,
  };
}

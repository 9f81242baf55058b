// Runs mutants of references on suites: a test that no mutant fails checks little.
import type { RunConfig } from '../../core/schema/config.js';
import type { Problem } from '../../core/schema/problem.js';
import type { SuiteVerdicts } from '../../core/schema/verdicts.js';
import { judgeSuites } from '../../sandbox/judgeSuites.js';
import { mutantsOf } from '../../sandbox/mutants.js';
import { batchOptions, type Scope } from '../scope.js';

/** Records for each test of a suite which mutants of the reference fail it. `problems[i]` is the problem of `judged[i]`. */
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
  const own = problems.map(({ referenceSolution = '' }) => mutants[references.indexOf(referenceSolution)] ?? []);
  const jobs = judged.flatMap(({ suite }, t) => {
    const problem = problems[t]!;
    const tests = suite.map(({ test }) => test);
    if (tests.length === 0) return [];
    const job = { problem, tests, limits: config.limits };
    return own[t]!.map((code, mutant) => ({ ...job, id: `mutant:${t}:${mutant}`, code, task: t, mutant }));
  });
  const results = await judgeSuites(sandbox, jobs, options);
  const kills = judged.map(({ suite }) => suite.map((): number[] => []));
  jobs.forEach(({ task, mutant }, j) => {
    results[j]!.verdicts.forEach((verdict, i) => {
      if (verdict !== 'pass') kills[task]![i]!.push(mutant);
    });
  });
  return {
    judged: judged.map((one, t) => ({ ...one, mutants: { count: own[t]!.length, kills: kills[t]! } })),
    executions: references.length + jobs.length,
  };
}

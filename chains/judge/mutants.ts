// Runs mutants of references on suites: a test that no mutant fails checks little.
import { comparesWith, truthTests, verdictOf } from '../../core/compare.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { ExecutionJob } from '../../core/schema/execution.js';
import type { Problem } from '../../core/schema/problem.js';
import type { SuiteVerdicts } from '../../core/schema/verdicts.js';
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
  const references = [...new Set(problems.map(({ referenceSolution }) => referenceSolution))];
  const mutants = await mutantsOf(sandbox, references, limit, options);
  const mutantsOfProblem = new Map(references.map((reference, i) => [reference, mutants[i]!]));
  const jobs = judged.flatMap(({ suite }, t) => {
    const { referenceSolution, entry, calling, comparison } = problems[t]!;
    const inputs = suite.map(({ test }) => test.args);
    const expected = suite.map(({ test }) => test.expected);
    const truth = truthTests(suite.map(({ test }) => test));
    const reduce = comparesWith(expected, comparison);
    const job = { entry, calling, inputs, truth, limits: config.limits, reduce };
    return mutantsOfProblem
      .get(referenceSolution)!
      .map((code, m): ExecutionJob<boolean> & { task: number; mutant: number } => ({
        id: `mutant:${t}:${m}`,
        task: t,
        mutant: m,
        code,
        ...job,
      }));
  });
  const runnable = jobs.filter(({ inputs }) => inputs.length > 0);
  const results = await sandbox.run(runnable, options);
  const kills = judged.map(({ suite }) => suite.map((): number[] => []));
  runnable.forEach(({ task, mutant }, j) => {
    results[j]!.calls.forEach((call, i) => {
      if (verdictOf(call) !== 'pass') kills[task]![i]!.push(mutant);
    });
  });
  return {
    judged: judged.map((one, t) => {
      const count = mutantsOfProblem.get(problems[t]!.referenceSolution)!.length;
      return { ...one, mutants: { count, kills: kills[t]! } };
    }),
    executions: references.length + runnable.length,
  };
}

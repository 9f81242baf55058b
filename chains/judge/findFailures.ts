// Runs programs on the baseline tests of their problems and describes the first test that each of them fails. Hidden tests and
// tests of the test source are never shown.
import { formatValue } from '../../core/parse/format.js';
import { clipped, describeCall, failedTest } from '../../core/prompts/failures.js';
import type { FailedTest } from '../../core/schema/chain.js';
import type { CallResult } from '../../core/schema/execution.js';
import type { Value } from '../../core/schema/value.js';
import type { FindFailuresInput, FindFailuresOutput } from '../../method/judge.js';
import { judgeSuites, type SuiteJob } from '../../sandbox/judgeSuites.js';
import { problemOf, readConfig, readProblems } from '../artifacts.js';
import { codeOf } from '../chainLists.js';
import { batchOptions, type Scope } from '../scope.js';

export async function findFailures(scope: Scope, input: FindFailuresInput): Promise<FindFailuresOutput> {
  const config = await readConfig(scope.store, input.run);
  const { byId } = await readProblems(scope.store, input.run.problems);
  const chains = await scope.store.getJson(input.chains);
  const jobs = chains.map((chain, i): SuiteJob => {
    const problem = problemOf(byId, chain.problemId);
    const code = codeOf(chain, problem, config);
    return { id: String(i), code, problem, tests: problem.baselineTests, limits: config.limits };
  });
  const executed = jobs.filter(({ code, tests }) => code !== '' && tests.length > 0);
  const show = (answer: Value): string => clipped(formatValue(answer));
  const runs = await judgeSuites(await scope.deps.sandbox(config), executed, { ...batchOptions(scope), show });
  const callsOf = new Map(executed.map((job, i) => [job, runs[i]!.calls]));
  const failures = jobs.map((job, i): FailedTest | null => {
    const problem = problemOf(byId, chains[i]!.problemId);
    const { baselineTests } = problem;
    if (baselineTests.length === 0) return null;
    const calls = callsOf.get(job);
    if (!calls) return failedTest(problem, baselineTests[0]!, 'there is no program');
    const at = calls.findIndex((call) => call.kind !== 'value' || call.value !== true);
    return at < 0 ? null : failedTest(problem, baselineTests[at]!, describeCall(calls[at] as CallResult<string>));
  });
  return { failures: await scope.store.putJson(failures), executions: executed.length };
}

// Runs programs on the baseline tests of their problems and describes the first test that each of them fails. Hidden tests are
// never shown.
import { comparesWith, truthTests } from '../../core/compare.js';
import { formatValue } from '../../core/parse/format.js';
import { clipped, describeCall, failedTest } from '../../core/prompts/failures.js';
import type { Chain, FailedTest } from '../../core/schema/chain.js';
import type { CallResult, ExecutionJob } from '../../core/schema/execution.js';
import type { FindFailuresInput, FindFailuresOutput } from '../../method/types.js';
import { problemOf, readConfig, readProblems } from '../artifacts.js';
import { codeOf } from '../chainLists.js';
import { batchOptions, type Scope } from '../scope.js';

/** The answer as text; null if it is right. */
type WrongAnswer = string | null;

export async function findFailures(scope: Scope, input: FindFailuresInput): Promise<FindFailuresOutput> {
  const config = await readConfig(scope.store, input.run);
  const { byId } = await readProblems(scope.store, input.run.problems);
  const chains = await scope.store.getJson(input.chains);
  const jobOf = (chain: Chain, i: number): ExecutionJob<WrongAnswer> => {
    const { entry, calling, comparison, baselineTests } = problemOf(byId, chain.problemId);
    const isRight = comparesWith(
      baselineTests.map(({ expected }) => expected),
      comparison,
    );
    return {
      id: String(i),
      code: codeOf(chain, { entry }, config),
      entry,
      calling,
      limits: config.limits,
      inputs: baselineTests.map(({ args }) => args),
      truth: truthTests(baselineTests),
      reduce: (answer, call) => (isRight(answer, call) ? null : clipped(formatValue(answer))),
    };
  };
  const jobs = chains.map(jobOf);
  const sandbox = await scope.deps.sandbox(config);
  const options = batchOptions(scope);
  const executed = jobs.filter(({ code, inputs }) => code !== '' && inputs.length > 0);
  const results = await sandbox.run(executed, options);
  const callsOf = new Map(results.map(({ id, calls }) => [id, calls]));
  const failures = jobs.map(({ id }, i): FailedTest | null => {
    const problem = problemOf(byId, chains[i]!.problemId);
    const { baselineTests } = problem;
    if (baselineTests.length === 0) return null;
    const calls = callsOf.get(id);
    if (!calls) return failedTest(problem, baselineTests[0]!, 'there is no program');
    const at = calls.findIndex((call) => call.kind !== 'value' || call.value !== null);
    return at < 0 ? null : failedTest(problem, baselineTests[at]!, describeCall(calls[at] as CallResult<string>));
  });
  return { failures: await scope.store.putJson(failures), executions: executed.length };
}

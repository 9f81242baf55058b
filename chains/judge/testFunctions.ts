// Which test functions of a discriminator are valid: the reference passes them, and they fail on a program that never answers.
import { groupBy } from '../../core/groups.js';
import { testKey } from '../../core/rewards/suite.js';
import type { Limits, Verdict } from '../../core/schema/execution.js';
import type { FunctionTest, Problem } from '../../core/schema/problem.js';
import { judgeSuites, type SuiteJob } from '../../sandbox/judgeSuites.js';
import type { RunOptions, Sandbox } from '../../sandbox/sandbox.js';
import { silentProgram } from '../../sandbox/silentProgram.js';

interface Written {
  problem: Problem;
  functions: readonly FunctionTest[];
}

/** Equal functions of a problem run once. Each has the time of a program of its own. */
export async function findValidFunctions(
  sandbox: Sandbox,
  limits: Limits,
  written: readonly { problem: Problem; turns: readonly { functions: readonly FunctionTest[] }[] }[],
  options: RunOptions,
): Promise<{ isValid(problem: Problem, test: FunctionTest): boolean; executions: number }> {
  let executions = 0;
  /** The functions that end on a program of each problem in one of these ways. */
  const ending = async (
    given: readonly Written[],
    ends: readonly Verdict[],
    what: string,
    codeOf: (problem: Problem) => string,
  ) => {
    const some = given.filter(
      ({ problem, functions }) => functions.length > 0 && problem.referenceSolution !== undefined,
    );
    const jobs = some.map(({ problem, functions }): SuiteJob => {
      executions += functions.length;
      return { id: `${what}:${problem.id}`, code: codeOf(problem), problem, tests: functions, limits };
    });
    const runs = await judgeSuites(sandbox, jobs, options);
    return some.map(({ problem, functions }, j): Written => {
      const { verdicts } = runs[j]!;
      return { problem, functions: functions.filter((_, i) => ends.includes(verdicts[i]!)) };
    });
  };
  const distinct = [...groupBy(written, ({ problem }) => problem.id).values()].map((own): Written => {
    const functions = own.flatMap(({ turns }) => turns).flatMap((turn) => turn.functions);
    return { problem: own[0]!.problem, functions: [...new Map(functions.map((one) => [testKey(one), one])).values()] };
  });
  const right = await ending(distinct, ['pass'], 'reference', ({ referenceSolution = '' }) => referenceSolution);
  const failing = await ending(right, ['fail', 'error'], 'silent', ({ entry }) => silentProgram(entry)); // no limit decides
  const valid = new Set(failing.flatMap(({ problem, functions }) => functions.map((test) => keyOf(problem, test))));
  return { isValid: (problem, test) => valid.has(keyOf(problem, test)), executions };
}

const keyOf = ({ id }: Problem, test: FunctionTest): string => JSON.stringify([id, testKey(test)]);

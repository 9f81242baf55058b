// Hostile validators, checkers, test source and programs on the sandbox that `get` returns. The fast lane runs a part of the
// catalogue, and hostileJudges.system.test.ts runs all of it.
import assert from 'node:assert/strict';
import type { GivenTest } from '../../core/rewards/suite.js';
import type { Limits } from '../../core/schema/execution.js';
import type { Problem } from '../../core/schema/problem.js';
import { examineProblem } from '../../sandbox/healthGate.js';
import { askProblems, judgeSuites } from '../../sandbox/judgeSuites.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { addProblem } from '../support/doubles.js';
import { CHECKERS, PROGRAMS, SOURCES, VALIDATORS } from './hostile/judges.js';
import { LIMITS } from './testSourceSupport.js';

export const SHORT: Limits = { ...LIMITS, cpuSeconds: 1, caseCpuSeconds: 0.4, wallSeconds: 30 };
/** In the problem, f(x) is x + 1. */
export const PROBLEM: Problem = { ...addProblem(1), entry: 'f', referenceSolution: 'def f(x): return x + 1' };
export const value = (x: number | string, expected: number | string): GivenTest => ({ args: [x], expected });
export const source = (...names: string[]): GivenTest[] => names.map((one) => ({ source: one }));

/** Adds a test for each part of the catalogue. @param every runs one of so many entries */
export function hostileJudges(get: () => Sandbox, every: number): void {
  const control: Problem = {
    ...PROBLEM,
    checker: 'def checker(inputs, answer, expected): return answer == expected\n',
  };
  const tested: Problem = { ...PROBLEM, testSource: 'assert f(1) == 2\nassert f(2) == 3\n', testStyle: 'assert' };
  const some = (part: Record<string, string>) => Object.entries(part).filter((_, i) => i % every === 0);
  const judge = (problem: Problem, tests: GivenTest[], codes: string[], limits = LIMITS) =>
    judgeSuites(
      get(),
      codes.map((code, i) => ({ id: String(i), code, problem, tests, limits })),
    );

  it('treats a fault of a checker as a fault of the problem, accepts no reference and lets no program pass', async () => {
    for (const [what, checker] of some(CHECKERS)) {
      const [run] = await judge(
        { ...PROBLEM, checker },
        [value(1, 2), value(2, 3)],
        [PROBLEM.referenceSolution!],
        SHORT,
      );
      assert.deepEqual(run!.verdicts, ['fail', 'fail'], what);
      const health = await examineProblem({ ...PROBLEM, checker }, get(), { limits: SHORT });
      assert.ok('reason' in health && /^baseline test 1: the checker fails: /.test(health.reason), what);
      assert.ok(!health.reason.includes('\n'), what);
      const [next] = await judge(control, [value(1, 2)], [PROBLEM.referenceSolution!]);
      assert.deepEqual(next!.verdicts, ['pass'], `after: ${what}`);
    }
  });

  it('allows no input if the validator fails, and is not affected afterwards', async () => {
    const asked = some(VALIDATORS).flatMap(([id, code]) => [
      { id, code, entry: 'validator' as const, inputs: [[1], [2]], limits: SHORT },
      {
        id: `after: ${id}`,
        code: 'def validator(x): return x == 1',
        entry: 'validator' as const,
        inputs: [[1], [2]],
        limits: LIMITS,
      },
    ]);
    const replies = await askProblems(get(), asked);
    for (const [i, { id }] of asked.entries()) {
      const said = replies[i]!.map((call) => call.kind === 'value' && call.value);
      assert.deepEqual(said, [i % 2 === 1, false], id);
      if (i % 2 === 0) for (const call of replies[i]!) assert.ok(call.kind !== 'value' && !/\n/.test(call.message), id);
    }
    const health = await examineProblem({ ...PROBLEM, validator: VALIDATORS.raises! }, get(), { limits: SHORT });
    assert.deepEqual(health, { reason: 'baseline test 1: the validator fails: error: ValueError: True' });
  });

  it('accepts no program with a checker that it cannot satisfy, and is not affected afterwards', async () => {
    const codes = some(PROGRAMS).flatMap(([, code]) => [code, PROBLEM.referenceSolution!]);
    const runs = await judge(control, [value(1, 2), value(2, 3)], codes);
    for (const [i, [what]] of some(PROGRAMS).entries()) {
      assert.ok(
        runs[2 * i]!.verdicts.every((verdict) => verdict !== 'pass'),
        `${what}: ${runs[2 * i]!.verdicts}`,
      );
      assert.deepEqual(runs[2 * i + 1]!.verdicts, ['pass', 'pass'], `after: ${what}`);
    }
  });

  it('passes no wrong program if the test source fails, and is not affected afterwards', async () => {
    const wrong = 'def f(x): return 2';
    for (const [what, testSource] of some(SOURCES)) {
      const problem: Problem = { ...PROBLEM, testSource, testStyle: 'assert' };
      const names = source('test_a', 'line 1', 'line 2');
      const [run] = await judge(problem, names, [wrong], SHORT);
      assert.ok(
        run!.verdicts.every((verdict) => verdict !== 'pass'),
        `${what}: ${run!.verdicts}`,
      );
      assert.deepEqual(
        (await judge(tested, source('line 1', 'line 2'), [wrong]))[0]!.verdicts,
        ['pass', 'fail'],
        `after: ${what}`,
      );
    }
  });
}

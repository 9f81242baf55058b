// What a problem says about generated tests: its reference answers them, its validator says which inputs are legal, and its
// checker which answers are right. A test on which one of them fails cannot be used.
import { groupBy } from '../../core/base/groups.js';
import { judge } from '../../core/comparison/compare.js';
import type { CallResult, Limits } from '../../core/schema/execution.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import { askProblems, isYes, type Question, questionOf } from '../../sandbox/judgeSuites.js';
import type { RunOptions, Sandbox } from '../../sandbox/sandbox.js';

export type ParsedTest = Omit<TestCase, 'expected'> & { expected?: Value }; // absent: the reference says what is expected

/** The answer of the reference to a test, and whether the test expects a right answer. */
export interface TestRuling {
  answer: Value;
  isRight: boolean;
}

type Function = Question['entry'];

/**
 * Asks the validators and the checkers of all problems about generated tests. Equal questions are asked once.
 * @returns the ruling on a test; undefined if its input is illegal or has no right answer
 */
export async function ruleTests(
  sandbox: Sandbox,
  limits: Limits,
  written: readonly { problem: Problem; turns: readonly { tests: readonly ParsedTest[] }[] }[],
  reference: (problem: Problem, args: Value[]) => CallResult,
  options: RunOptions,
): Promise<(problem: Problem, test: ParsedTest) => TestRuling | undefined> {
  const asked = new Map<string, { problem: Problem; entry: Function; args: Value[] }>();
  const ask = (problem: Problem, entry: Function, args: Value[]): void => {
    if (problem[entry] !== undefined) asked.set(keyOf(problem, entry, args), { problem, entry, args });
  };
  const turnsOf = new Map<string, number>(); // problem id → number of turns that have tests
  for (const { problem, turns } of written) {
    const { length } = turns.filter(({ tests }) => tests.length > 0);
    turnsOf.set(problem.id, (turnsOf.get(problem.id) ?? 0) + length);
    for (const test of turns.flatMap(({ tests }) => tests)) {
      const answer = reference(problem, test.args);
      if (answer.kind !== 'value') continue;
      const { expected = answer.value } = test;
      ask(problem, 'validator', test.args);
      ask(problem, 'checker', questionOf(test.args, answer.value, answer.value));
      ask(problem, 'checker', questionOf(test.args, expected, answer.value));
    }
  }
  const groups = [...groupBy(asked.values(), ({ problem, entry }) => `${entry}:${problem.id}`)];
  const questions = groups.map(([id, own]): Question => {
    const { problem, entry } = own[0]!;
    const time = timeOfTurns(limits, turnsOf.get(problem.id)!);
    return { id, code: problem[entry], entry, inputs: own.map(({ args }) => args), limits: time };
  });
  const replies = await askProblems(sandbox, questions, options);
  const confirmed = new Set(
    groups.flatMap(([, own], g) =>
      own.flatMap(({ problem, entry, args }, i) => (isYes(replies[g]![i]!) ? [keyOf(problem, entry, args)] : [])),
    ),
  );
  const says = (problem: Problem, entry: Function, args: Value[]): boolean =>
    problem[entry] === undefined || confirmed.has(keyOf(problem, entry, args));
  return (problem, test) => {
    const answer = reference(problem, test.args);
    if (answer.kind !== 'value') return undefined;
    const { expected = answer.value, args } = test;
    if (!says(problem, 'validator', args)) return undefined;
    if (!says(problem, 'checker', questionOf(args, answer.value, answer.value))) return undefined;
    const isRight =
      problem.checker === undefined
        ? judge(answer, expected, problem.comparison) === 'pass'
        : says(problem, 'checker', questionOf(args, expected, answer.value));
    return { answer: answer.value, isRight };
  };
}

/** Allows the time of one program for each turn, so that slow inputs of one sample do not make other samples' tests invalid. */
export const timeOfTurns = (limits: Limits, turns: number): Limits => ({
  ...limits,
  cpuSeconds: turns * limits.cpuSeconds,
  wallSeconds: turns * limits.wallSeconds,
});

const keyOf = ({ id }: Problem, entry: Function, args: Value[]): string => JSON.stringify([id, entry, args]);

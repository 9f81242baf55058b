// The answers that a warm start teaches: a reference solution, and tests whose expected values the reference computed.
import { nameOf } from '../parse/asserts.js';
import { formatArguments, formatValue } from '../parse/format.js';
import type { Stage } from '../schema/chain.js';
import type { PromptStyle } from '../schema/config.js';
import type { Problem, TestCase } from '../schema/problem.js';
import { fenced, type TestRequest, testLines } from './prompts.js';

/** The answer of a stage; undefined if the problem does not provide it. */
export function stageAnswer(style: PromptStyle, problem: Problem, stage: Stage): string | undefined {
  if (stage < 5) return problem.reasoning?.[stage - 1];
  const code = problem.referenceSolution?.trimEnd();
  if (code === undefined) return undefined;
  return style === 'instruct' ? fenced(code) : code;
}

export function testAnswer(style: PromptStyle, request: TestRequest, entry: string, tests: TestCase[]): string {
  if (style === 'tiny')
    return tests.map((test) => `(${formatValue({ t: test.args })}, ${formatValue(test.expected)})`).join('\n');
  const name = nameOf(entry);
  const lines = tests.map((test) => ({
    call: `${name}${formatArguments(test.args)}`,
    expected: formatValue(test.expected),
  }));
  return testLines(request, lines);
}

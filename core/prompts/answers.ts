// The answers that a warm start teaches: a reference solution, and tests whose expected values the reference computed.
import { nameOf } from '../parse/asserts.js';
import { formatArguments, formatValue } from '../parse/format.js';
import type { Stage } from '../schema/chain.js';
import type { PromptStyle } from '../schema/config.js';
import type { Problem, TestCase } from '../schema/problem.js';
import { fenced, type TestRequest } from './prompts.js';

/** The answer of a stage; undefined if the problem does not provide it. */
export function stageAnswer(style: PromptStyle, problem: Problem, stage: Stage): string | undefined {
  if (stage < 5) return problem.reasoning?.[stage - 1];
  const code = problem.referenceSolution?.trimEnd();
  if (code === undefined) return undefined;
  return style === 'instruct' ? fenced(code) : code;
}

export function testAnswer(style: PromptStyle, { expected }: TestRequest, entry: string, tests: TestCase[]): string {
  if (style !== 'tiny' && expected === 'reference')
    return tests.map(({ args }) => `${nameOf(entry)}${formatArguments(args)}`).join('\n');
  const lines = tests.map((test) => `(${formatValue({ t: test.args })}, ${formatValue(test.expected)})`);
  return style !== 'tiny' ? `[\n${lines.map((line) => `    ${line},\n`).join('')}]` : lines.join('\n');
}

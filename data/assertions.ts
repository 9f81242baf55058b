// Tests that a problem file gives as Python text: `assert f(args) == expected`, parsed and never run.
import { type RejectionReason, salvageTests } from '../core/parse/salvage.js';
import type { TestCase } from '../core/schema/problem.js';
import type { Signature } from './signature.js';
import { TestFormProblem } from './testForms.js';

const REASONS: Record<RejectionReason, string> = {
  syntax: 'does not parse',
  truncated: 'ends too early',
  'not-literal': 'holds a value that would have to be computed',
  'too-large': 'holds a value that is too large',
  shape: 'is not of the form ((args), expected)',
  arity: 'gives another number of arguments than the signature takes',
  'wrong-function': 'calls another function than the signature names',
  'unsupported-assert': 'asserts something other than f(args) == expected',
  'over-limit': 'holds too many tests',
};
const LIMIT = 10_000;

/** The tests of one string, at least one; nothing is dropped silently. @throws TestFormProblem */
export function readAssertions(text: string, signature: Signature): TestCase[] {
  const arity = signature.required === signature.most ? signature.most : undefined;
  const bare = /^\s*[A-Za-z_][\w.]*\s*\(.*==/.test(text); // the statement without its keyword
  const { tests, rejected } = salvageTests(bare ? `assert ${text.trim()}` : text, {
    entry: signature.entry,
    arity,
    limit: LIMIT,
  });
  if (rejected.length > 0)
    throw new TestFormProblem(`${REASONS[rejected[0]!.reason]}: ${JSON.stringify(rejected[0]!.text)}`);
  if (tests.length === 0) throw new TestFormProblem(`holds no test: ${JSON.stringify(text.slice(0, 60))}`);
  for (const { args } of tests) {
    if (args.length < signature.required || args.length > signature.most) throw new TestFormProblem(REASONS.arity);
  }
  return tests;
}

// Tests that a problem file gives as Python text: `assert f(args) == expected`. They are parsed and never run.
import { type RejectionReason, salvageTests } from '../core/parse/salvage.js';
import type { TestCase } from '../core/schema/problem.js';
import { UnusableRecord } from './formats/format.js';
import { fixedArity, type Signature } from './signature.js';
import { requireArity } from './testForms.js';

const REASONS: Record<RejectionReason, string> = {
  syntax: 'does not parse',
  truncated: 'ends too early',
  'not-literal': 'holds a value that would have to be computed',
  'too-large': 'holds a value that is too large',
  shape: 'is not of the form ((args), expected)',
  arity: 'gives another number of arguments than the signature takes',
  'wrong-function': 'asserts something other than f(args) == expected',
  'unsupported-assert': 'asserts something other than f(args) == expected',
  'over-limit': 'holds too many tests',
};
const LIMIT = 10_000; // tests in one string

/**
 * The tests of one string, at least one. Nothing is dropped silently.
 * @param entry the function under test, 'f' or 'Class.f'
 * @throws UnusableRecord
 */
export function readAssertions(text: string, signature: Signature, entry: string): TestCase[] {
  const bare = /^\s*[A-Za-z_][\w.]*\s*\(.*==/s.test(text); // a statement without the keyword
  const { tests, rejected } = salvageTests(bare ? `assert ${text.trim()}` : text, {
    entry,
    arity: fixedArity(signature),
    limit: LIMIT,
  });
  const lost = rejected[0];
  if (lost || tests.length === 0) {
    const called = otherFunction(lost?.text ?? text, entry);
    if (called !== undefined) throw new UnusableRecord(`calls \`${called}\`, but the entry is \`${entry}\``);
    throw new UnusableRecord(
      lost
        ? `${REASONS[lost.reason]}: ${JSON.stringify(lost.text)}`
        : `holds no test: ${JSON.stringify(text.slice(0, 60))}`,
    );
  }
  for (const { args } of tests) requireArity(signature, args.length);
  return tests;
}

/** The first function that a statement calls, if the statement does not call the entry at all. */
function otherFunction(statement: string, entry: string): string | undefined {
  const called = [...statement.matchAll(/([A-Za-z_]\w*)\s*\(/g)].map(([, name]) => name!);
  return called.includes(entry.split('.').at(-1)!)
    ? undefined
    : called.find((name) => !/^(?:assert|not|is|in)$/.test(name));
}

// Tests that a problem file gives as Python text: `assert f(args) == expected`. They are parsed and never run.
import { LiteralProblem } from '../core/parse/arithmetic.js';
import { nameOf } from '../core/parse/asserts.js';
import { type RejectionReason, salvageTests } from '../core/parse/salvage.js';
import { calledNames, fixedArity, type Signature } from '../core/parse/signature.js';
import { testsOfModule } from '../core/parse/testModule.js';
import { elements, parsePython, type Source, statementsOf } from '../core/parse/tree.js';
import type { TestCase } from '../core/schema/problem.js';
import { UnusableRecord } from './formats/format.js';
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
const LIMIT = 10_000; // the most tests in one string
const NO_ENTRY = '_entry';

/**
 * The tests of one string, at least one. Nothing is dropped silently.
 * @param entry the function under test, 'f' or 'Class.f'; absent: the tests are pairs
 * @throws UnusableRecord
 */
export function readAssertions(text: string, signature: Signature, entry = NO_ENTRY): TestCase[] {
  const { source, unread } = asserted(text, entry);
  const { tests, rest = unread } = testsOfModule(source, entry, fixedArity(signature), signature);
  if (rest !== undefined || tests.length === 0) throw refusal(rest ?? text, signature, entry);
  for (const { args } of tests) requireArity(signature, args.length);
  return tests;
}

/** Writes the statements `f(1) == 2` and `((1,), 2)` as asserts. `unread` is the first statement that no test would run. */
function asserted(given: string, entry: string): { source: string; unread?: string | undefined } {
  let parsed: Source;
  try {
    parsed = parsePython(given.replace(/\r\n?/g, '\n'));
  } catch (error) {
    if (error instanceof LiteralProblem) return { source: given };
    throw error;
  }
  const slice = ({ from, to }: { from: number; to: number }): string => parsed.text.slice(from, to);
  const statements = statementsOf(parsed.top);
  const written = statements.map((statement) => {
    const value = statement.name === 'ExpressionStatement' ? statement.firstChild : null;
    if (value?.name === 'BinaryExpression') return `assert ${slice(statement)}`;
    const [args, expected, ...more] = value?.name === 'TupleExpression' ? elements(value) : [];
    const isPair = args?.name === 'TupleExpression' && expected && more.length === 0;
    return isPair ? `assert ${nameOf(entry)}(*${slice(args)}) == (${slice(expected)})` : slice(statement);
  });
  const conditional = statements.find(({ name }) => name === 'IfStatement');
  return { source: written.join('\n'), unread: conditional && slice(conditional) };
}

/** @param rest statements that are not read as tests */
function refusal(rest: string, signature: Signature, entry: string): UnusableRecord {
  const [lost] = salvageTests(rest, { entry, signature, arity: fixedArity(signature), limit: LIMIT }).rejected;
  const called = otherFunction(lost?.text ?? rest, entry);
  if (called !== undefined) return new UnusableRecord(`calls \`${called}\`, but the entry is \`${entry}\``);
  return new UnusableRecord(
    lost
      ? `${REASONS[lost.reason]}: ${JSON.stringify(lost.text)}`
      : `cannot be read as a test: ${JSON.stringify(rest.trim().slice(0, 60))}`,
  );
}

/** The first function that a statement calls, if the statement does not call the entry at all. */
function otherFunction(statement: string, entry: string): string | undefined {
  const called = calledNames(statement);
  return called.includes(entry.split('.').at(-1)!)
    ? undefined
    : called.find((name) => !/^(?:assert|not|is|in)$/.test(name));
}

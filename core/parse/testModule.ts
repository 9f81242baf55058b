// Reads the literal part of test source as values: asserts about one function with literal arguments and answers, bare,
// in `check(candidate)`, in test functions, parametrized or not, and in test classes. Parsed, never run.
import type { SyntaxNode } from '@lezer/common';
import type { TestStyle } from '../schema/execution.js';
import type { TestCase } from '../schema/problem.js';
import { LiteralProblem } from './arithmetic.js';
import { type AssertOptions, type Bindings, claimedTest, isClaim, noBindings, SalvageProblem } from './asserts.js';
import { type Definition, definitionsOf } from './definitions.js';
import { parseSignature, type Signature } from './signature.js';
import { bind, isIdle, testsOfFunction } from './testFunctions.js';
import { parsePython, statementsOf } from './tree.js';

/**
 * How test source is run: under pytest if it has tests that pytest collects and names pytest, or if one has a parameter, which a
 * fixture must fill. Decorators such as `patch` fill parameters, too, and the methods of a TestCase get no fixtures.
 */
export const styleOfTests = (source: string): TestStyle =>
  /^(?:async[ \t]+)?(?:def[ \t]+test|class[ \t]+Test)/m.test(source) &&
  (/^[ \t]*(?:import|from)[ \t]+(?:[\w.]+[ \t]*,[ \t]*)*pytest\b|^[^#\n]*\bpytest\.\w/m.test(source) ||
    definitionsOf(source).some(takesFixture))
    ? 'pytest'
    : 'assert';

const takesFixture = ({ name, header, decorators, methods }: Definition): boolean =>
  /^class Test(?!.*TestCase)/.test(header)
    ? methods.some(takesFixture)
    : /^test/.test(name) && decorators.length === 0 && (parseSignature(header)?.required ?? 0) > 0;

export interface ModuleTests {
  tests: TestCase[];
  /** The source without the statements that `tests` covers completely; undefined if nothing is left to run. */
  rest: string | undefined;
}

/** What a call of `check(candidate)` is given: `f`, `Class.f` or `Class().f`. */
export const checkedBy = (statement: string): string | undefined =>
  /^check\s*\(\s*(\w+(?:(?:\(\s*\))?\.\w+)?)\s*\)\s*$/.exec(statement)?.[1];

const MAX_TESTS = 10_000;

/**
 * @param entry the function under test, 'f' or 'Class.f'
 * @param arity number of its arguments, if it is fixed
 * @param signature of it, which arguments given by name need
 */
export function testsOfModule(source: string, entry: string, arity?: number, signature?: Signature): ModuleTests {
  const given = source.replace(/\r\n?/g, '\n');
  let parsed: ReturnType<typeof parsePython>;
  try {
    parsed = parsePython(given);
  } catch (error) {
    if (error instanceof LiteralProblem) return { tests: [], rest: source };
    throw error;
  }
  const { text, top } = parsed;
  if (definitionsOf(text).some(({ name }) => entry.split('.').includes(name))) return { tests: [], rest: source }; // they call their own
  const tests: TestCase[] = [];
  const taken: SyntaxNode[] = [];
  let complete = true;
  let bound = noBindings();
  const options = { entry, arity, signature, truth: true };
  for (const statement of statementsOf(top)) {
    if (statement.name === 'AssignStatement') {
      bind(statement, text, options, bound);
      continue;
    }
    const found = testsIn(statement, text, options, bound);
    if (found === 'idle') continue;
    if (!found.complete) bound = noBindings(); // it may change what a name stands for
    for (const test of found.tests) tests.push(test);
    if (found.complete && tests.length <= MAX_TESTS) taken.push(statement);
    else complete = false;
  }
  if (complete) return { tests, rest: undefined };
  return { tests: tests.slice(0, MAX_TESTS), rest: taken.length === 0 ? source : without(text, taken) };
}

function without(text: string, nodes: readonly SyntaxNode[]): string {
  let out = '';
  let at = 0;
  for (const { from, to } of nodes) {
    out += text.slice(at, from);
    at = to;
  }
  return out + text.slice(at);
}

/** The tests in one statement of the module; 'idle' if it checks nothing. */
function testsIn(
  statement: SyntaxNode,
  text: string,
  options: AssertOptions,
  bound: Bindings,
): { tests: TestCase[]; complete: boolean } | 'idle' {
  const source = text.slice(statement.from, statement.to);
  if (isIdle(statement) || /^assert\s+True$/.test(source)) return 'idle';
  if (
    statement.name === 'ExpressionStatement' &&
    (checkedBy(source) !== undefined || /^unittest\.main\(.*\)$/.test(source))
  )
    return 'idle';
  if (statement.name === 'IfStatement' && /^if\s+__name__\s*==/.test(source)) return 'idle';
  if (isClaim(statement, text)) return claims([statement], text, options, bound);
  const check = statement.name === 'FunctionDefinition' && /^def\s+check\s*\(\s*(\w+)\s*\)/.exec(source);
  if (check) return claims(statementsOf(statement.getChild('Body')!), text, { ...options, entry: check[1]! });
  const tests: TestCase[] = [];
  for (const found of testsOfFunction(statement, text, options)) {
    if ('reason' in found || tests.length > MAX_TESTS) return { tests, complete: false };
    tests.push(found.test);
  }
  // other tests may need a helper or fixture; a statement of another kind may check anything
  return { tests, complete: tests.length > 0 };
}

function claims(
  statements: SyntaxNode[],
  text: string,
  options: AssertOptions,
  bound = noBindings(),
): { tests: TestCase[]; complete: boolean } {
  const tests: TestCase[] = [];
  let complete = true;
  for (const statement of statements) {
    if (isIdle(statement) || statement.name === 'AssignStatement') continue;
    if (/^assert\s+True\b(?!\s*[=!<>.[(])/.test(text.slice(statement.from, statement.to))) continue;
    try {
      if (!isClaim(statement, text)) throw new SalvageProblem('unsupported-assert');
      tests.push(claimedTest(statement, text, options, bound));
    } catch (error) {
      if (!(error instanceof SalvageProblem || error instanceof LiteralProblem)) throw error;
      complete = false;
    }
  }
  return { tests, complete };
}

// Reads the literal part of test source as values: asserts about one function with literal arguments and answers, bare,
// in `check(candidate)`, in test functions, parametrized or not, and in test classes. Nothing runs.
import type { SyntaxNode } from '@lezer/common';
import type { TestStyle } from '../schema/execution.js';
import type { TestCase } from '../schema/problem.js';
import { type AssertOptions, attempt, type Bindings, claimedTest, isClaim, noBindings } from './asserts.js';
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

/** The argument in a call of `check(candidate)`: `f`, `Class.f` or `Class().f`. */
export const checkedBy = (statement: string): string | undefined =>
  /^check\s*\(\s*(\w+(?:(?:\(\s*\))?\.\w+)?)\s*\)\s*$/.exec(statement)?.[1];

const MAX_TESTS = 10_000;

/**
 * @param entry the function under test, 'f' or 'Class.f'
 * @param arity the number of its arguments, if that is fixed
 * @param signature its signature, which arguments given by name need
 */
export function testsOfModule(source: string, entry: string, arity?: number, signature?: Signature): ModuleTests {
  const given = source.replace(/\r\n?/g, '\n');
  const parsed = attempt(() => parsePython(given));
  if (!parsed) return { tests: [], rest: source };
  const { text, top } = parsed;
  const defined = definitionsOf(text).map(({ name }) => name);
  if (defined.some((name) => entry.split('.').includes(name))) return { tests: [], rest: source }; // source has its own function
  const tests: TestCase[] = [];
  const taken = new Set<SyntaxNode>();
  const named = new Map<string, SyntaxNode>(); // the taken functions and classes by name
  const staying: SyntaxNode[] = [];
  let complete = true;
  let bound = noBindings();
  const options = { entry, arity, signature, truth: true };
  for (const statement of statementsOf(top)) {
    if (statement.name === 'AssignStatement') {
      bind(statement, text, options, bound);
      staying.push(statement);
      continue;
    }
    const isRepeated = repeats(statement, text, named);
    const found = isRepeated ? { tests: [], complete: true } : testsIn(statement, text, options, bound);
    if (found === 'idle') continue;
    if (!found.complete) bound = noBindings(); // the statement may change what a name stands for
    for (const test of found.tests) tests.push(test);
    if (!found.complete || tests.length > MAX_TESTS) {
      staying.push(statement);
      complete = false;
    } else {
      taken.add(statement);
      const definition = statement.name === 'DecoratedStatement' ? statement.lastChild! : statement;
      if (definition.name.endsWith('Definition')) named.set(namesIn(definition, text)[0]!, statement);
    }
  }
  if (complete) return { tests, rest: undefined };
  for (const node of staying)
    for (const name of namesIn(node, text)) {
      const used = named.get(name);
      if (used && taken.delete(used)) staying.push(used);
    }
  return { tests: tests.slice(0, MAX_TESTS), rest: taken.size === 0 ? source : without(text, taken) };
}

/** Whether a statement only calls tests that were read: `test_a()`, `check(f)`, or a function of such calls. */
function repeats(statement: SyntaxNode, text: string, named: ReadonlyMap<string, SyntaxNode>): boolean {
  const source = text.slice(statement.from, statement.to);
  const called = /^(\w+)\s*\(\s*\)\s*$/.exec(source)?.[1] ?? (checkedBy(source) && 'check');
  if (called) return named.has(called);
  const body = statement.name === 'FunctionDefinition' ? statement.getChild('Body') : null;
  const inner = (body ? statementsOf(body) : []).filter((one) => !isIdle(one));
  return inner.length > 0 && inner.every((one) => repeats(one, text, named));
}

function namesIn(node: SyntaxNode, text: string): string[] {
  const out: string[] = [];
  node.cursor().iterate(({ name, from, to }) => void (name === 'VariableName' && out.push(text.slice(from, to))));
  return out;
}

function without(text: string, nodes: Iterable<SyntaxNode>): string {
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
  if (statement.name === 'ExpressionStatement' && (checkedBy(source) || /^unittest\.main\(.*\)$/.test(source)))
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
  // a statement without tests must stay: it may be a helper or fixture of other tests, or check anything
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
    const test = isClaim(statement, text) ? attempt(() => claimedTest(statement, text, options, bound)) : undefined;
    if (test) tests.push(test);
    else complete = false;
  }
  return { tests, complete };
}

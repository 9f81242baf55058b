// Test source as a table of values, where it is one: asserts about one function with literal arguments and answers, bare
// or in the function `check(candidate)`. Parsed, never run.
import type { SyntaxNode } from '@lezer/common';
import type { TestCase } from '../schema/problem.js';
import { LiteralProblem } from './arithmetic.js';
import { assertedTest, SalvageProblem } from './asserts.js';
import { parsePython, parts } from './tree.js';

export interface ModuleTests {
  tests: TestCase[];
  /** Everything that the source checks is in `tests`; false: running it may find more. */
  complete: boolean;
}

/** Statements that check nothing. What they bind cannot matter to literals. */
const IDLE: ReadonlySet<string> = new Set(['ImportStatement', 'PassStatement', 'AssignStatement']);

/**
 * @param entry the function under test
 * @param arity number of its arguments, where that is fixed
 */
export function testsOfModule(source: string, entry: string, arity?: number): ModuleTests {
  const out: ModuleTests = { tests: [], complete: true };
  let text: string;
  let top: SyntaxNode;
  try {
    ({ text, top } = parsePython(source.replace(/\r\n?/g, '\n')));
  } catch (error) {
    if (error instanceof LiteralProblem) return { tests: [], complete: false };
    throw error;
  }
  const slice = (node: SyntaxNode): string => text.slice(node.from, node.to);
  const visit = (statement: SyntaxNode, name: string): void => {
    const claim = parts(statement)[1];
    if (IDLE.has(statement.name)) return;
    if (statement.name === 'AssertStatement' && claim && slice(claim) === 'True') return;
    if (statement.name === 'AssertStatement') {
      take(slice(statement), name);
      return;
    }
    const [inner] = parts(statement);
    if (statement.name === 'ExpressionStatement' && inner?.name === 'String') return;
    const isCheckCall = /^check\s*\(\s*\w+\s*\)$/.test(slice(statement));
    if (statement.name === 'ExpressionStatement' && isCheckCall) return;
    const check = statement.name === 'FunctionDefinition' && /^def\s+check\s*\(\s*(\w+)\s*\)/.exec(slice(statement));
    if (check) for (const child of parts(statement.getChild('Body')!)) visit(child, check[1]!);
    else out.complete = false;
  };
  const take = (assertion: string, name: string): void => {
    try {
      out.tests.push(assertedTest(assertion, { entry: name, ...(arity === undefined ? {} : { arity }) }));
    } catch (error) {
      if (!(error instanceof SalvageProblem || error instanceof LiteralProblem)) throw error;
      out.complete = false;
    }
  };
  for (const statement of parts(top)) visit(statement, entry);
  return out;
}

// Reads the assertions of a test function, once for each row of its parametrize list. Nothing runs.
import type { SyntaxNode } from '@lezer/common';
import type { TestCase } from '../schema/problem.js';
import type { Value } from '../schema/value.js';
import { itemsOf, LiteralProblem } from './arithmetic.js';
import {
  type AssertOptions,
  attempt,
  type Bindings,
  calledWith,
  claimedTest,
  isClaim,
  SalvageProblem,
  type SalvageReason,
} from './asserts.js';
import { Evaluation } from './evaluation.js';
import { children, elements, parts, statementsOf } from './tree.js';

/** A test, or a text that was meant as a test and the reason why it cannot be used. */
export type Found = { test: TestCase } | { reason: SalvageReason; text: string };

/**
 * Every assertion of `def test…`, decorated or not, or of a class of such functions, in order; nothing for another
 * statement. Each statement that may check something in an unknown form is a rejected test.
 */
export function* testsOfFunction(
  statement: SyntaxNode,
  text: string,
  options: AssertOptions,
): Generator<Found, void, undefined> {
  if (statement.name === 'ClassDefinition') {
    const body = statement.getChild('Body');
    for (const member of body ? parts(body) : []) yield* testsOfFunction(member, text, options);
    return;
  }
  const decorated = statement.name === 'DecoratedStatement';
  const definition = decorated ? statement.lastChild! : statement;
  if (definition.name !== 'FunctionDefinition' || !isTestFunction(definition, text)) return;
  const found = (reason: SalvageReason, node: SyntaxNode): Found => ({ reason, text: text.slice(node.from, node.to) });
  const decorators = decorated ? parts(statement).filter((node) => node.name === 'Decorator') : [];
  let rows: Iterable<Row> = [new Map()];
  if (decorators.length > 0) {
    const [decorator] = decorators as [SyntaxNode];
    const isTable =
      decorators.length === 1 &&
      /^@\s*(?:pytest\s*\.\s*)?mark\s*\.\s*parametrize\b/.test(text.slice(decorator.from, decorator.to));
    if (!isTable) {
      yield found('unsupported-assert', decorator);
      return;
    }
    rows = rowsOf(decorator, text);
  }
  for (const row of rows) {
    if ('reason' in row) yield row;
    else yield* claimsOf(definition, text, options, { names: new Map(row), answers: new Map() });
  }
}

const isTestFunction = (definition: SyntaxNode, text: string): boolean =>
  /^def\s+test/.test(text.slice(definition.from, definition.from + 40));

function* claimsOf(definition: SyntaxNode, text: string, options: AssertOptions, bound: Bindings): Generator<Found> {
  const body = definition.getChild('Body');
  for (const statement of body ? statementsOf(body) : []) {
    if (isClaim(statement, text)) yield claimIn(statement, text, options, bound);
    else if (statement.name === 'AssignStatement') bind(statement, text, options, bound);
    else if (!isIdle(statement)) yield { reason: 'unsupported-assert', text: text.slice(statement.from, statement.to) };
  }
}

/** True for statements that check nothing: docstrings, imports and pass. */
export function isIdle(statement: SyntaxNode): boolean {
  if (statement.name === 'ExpressionStatement') {
    const [inner] = parts(statement);
    return inner?.name === 'String' || inner?.name === 'ContinuedString' || inner?.name === 'Ellipsis';
  }
  return statement.name === 'ImportStatement' || statement.name === 'PassStatement';
}

/** Binds `x = <literal>` and `answer = f(…)`. Other assignments make the name unknown. */
export function bind(statement: SyntaxNode, text: string, options: AssertOptions, bound: Bindings): void {
  const nodes = children(statement);
  for (const node of nodes)
    if (node.name === 'VariableName') {
      bound.names.delete(text.slice(node.from, node.to));
      bound.answers.delete(text.slice(node.from, node.to));
    }
  const [target, sign, value] = nodes as [SyntaxNode, SyntaxNode, SyntaxNode];
  if (nodes.length !== 3 || target.name !== 'VariableName' || text.slice(sign.from, sign.to) !== '=') return;
  const name = text.slice(target.from, target.to);
  attempt(() => {
    try {
      if (value.name === 'CallExpression') {
        bound.answers.set(name, calledWith(value, text, options, bound));
        return;
      }
    } catch (error) {
      if (!(error instanceof SalvageProblem && error.reason === 'wrong-function')) throw error;
    }
    bound.names.set(name, new Evaluation(text, undefined, bound.names).value(value));
  });
}

type Row = Map<string, Value> | { reason: SalvageReason; text: string };

/** `@pytest.mark.parametrize("a, b", [(1, 2), pytest.param(3, 4, id="x")])`, row by row. */
function* rowsOf(decorator: SyntaxNode, text: string): Generator<Row> {
  const slice = (node: SyntaxNode): string => text.slice(node.from, node.to);
  const list = parts(decorator).find((node) => node.name === 'ArgList') ?? decorator.lastChild!;
  const given = list.name === 'ArgList' ? elements(list) : [];
  const [namesNode, table] = given;
  const names = namesNode ? namesIn(namesNode, text) : undefined;
  if (!names || !table || (table.name !== 'ArrayExpression' && table.name !== 'TupleExpression')) {
    yield { reason: 'unsupported-assert', text: slice(decorator) };
    return;
  }
  for (const node of elements(table)) {
    try {
      const isParam = node.name === 'CallExpression' && /^(?:pytest\s*\.\s*)?param$/.test(slice(children(node)[0]!));
      const evaluation = new Evaluation(text);
      const values = isParam
        ? paramValues(children(node)[1]!, text).map((x) => evaluation.value(x))
        : names.length === 1
          ? [evaluation.value(node)]
          : itemsOf(evaluation.value(node));
      if (values === undefined || values.length !== names.length) throw new SalvageProblem('shape');
      yield new Map(names.map((name, i) => [name, values[i]!]));
    } catch (error) {
      if (!(error instanceof SalvageProblem || error instanceof LiteralProblem)) throw error;
      yield { reason: error.reason, text: slice(node) };
    }
  }
}

function namesIn(node: SyntaxNode, text: string): string[] | undefined {
  const value = attempt(() => new Evaluation(text).value(node)) ?? null;
  const names = typeof value === 'string' ? value.split(',').map((name) => name.trim()) : itemsOf(value);
  return names?.every((name): name is string => typeof name === 'string' && /^\w+$/.test(name)) ? names : undefined;
}

/** Positional arguments of pytest.param. Its id is ignored; marks are refused, since they change what the row means. */
function paramValues(list: SyntaxNode, text: string): SyntaxNode[] {
  const nodes = elements(list);
  const out: SyntaxNode[] = [];
  for (let i = 0; i < nodes.length; i++) {
    if (nodes[i + 1]?.name !== 'AssignOp') out.push(nodes[i]!);
    else if (text.slice(nodes[i]!.from, nodes[i]!.to) !== 'id') throw new SalvageProblem('unsupported-assert');
    else i += 2;
  }
  return out;
}

function claimIn(statement: SyntaxNode, text: string, options: AssertOptions, bound: Bindings): Found {
  try {
    return { test: claimedTest(statement, text, options, bound) };
  } catch (error) {
    if (error instanceof SalvageProblem || error instanceof LiteralProblem)
      return { reason: error.reason, text: text.slice(statement.from, statement.to) };
    throw error;
  }
}

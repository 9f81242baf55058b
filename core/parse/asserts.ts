// One assert statement as a test: `assert f(args) == expected` and its relatives. Parsed, never run.
import type { SyntaxNode } from '@lezer/common';
import type { TestCase } from '../schema/problem.js';
import type { LiteralReason } from './arithmetic.js';
import { Evaluation } from './evaluation.js';
import { children, parsePython } from './tree.js';

export type SalvageReason = LiteralReason | 'shape' | 'arity' | 'wrong-function' | 'unsupported-assert';

export class SalvageProblem extends Error {
  constructor(readonly reason: SalvageReason) {
    super(reason);
  }
}

interface AssertOptions {
  entry: string;
  arity?: number;
}

/**
 * `assert f(…) == x`, `x == f(…)`, `f(…) is None|True|False`, bare `f(…)` (True) and `not f(…)` (False), with or without
 * a message or brackets; f may be called through an object (`Solution().f`).
 * @throws SalvageProblem, LiteralProblem
 */
export function assertedTest(source: string, options: AssertOptions): TestCase {
  const { text, top } = parsePython(source.trim());
  const statement = top.firstChild;
  const claim = statement?.name === 'AssertStatement' ? children(statement)[1] : undefined;
  if (!claim) throw new SalvageProblem('syntax');
  const { call, expected } = readClaim(unwrap(claim), text);
  const [callee, list] = children(call);
  if (calledName(callee!, text) !== options.entry) throw new SalvageProblem('wrong-function');
  const given = children(list!)
    .slice(1, -1)
    .filter((node) => node.name !== ',');
  if (given.some((node) => node.name === 'AssignOp' || node.name === '*' || node.name === '**')) {
    throw new SalvageProblem('unsupported-assert');
  }
  const evaluation = new Evaluation(text);
  const args = given.map((node) => evaluation.value(node));
  if (options.arity !== undefined && args.length !== options.arity) throw new SalvageProblem('arity');
  return { args, expected: typeof expected === 'boolean' ? expected : evaluation.value(expected) };
}

function readClaim(claim: SyntaxNode, text: string): { call: SyntaxNode; expected: SyntaxNode | boolean } {
  if (claim.name === 'CallExpression') return { call: claim, expected: true };
  const [first, second, third, ...rest] = children(claim);
  if (claim.name === 'UnaryExpression' && first!.name === 'not') {
    const operand = unwrap(second!);
    if (operand.name === 'CallExpression') return { call: operand, expected: false };
  }
  if (claim.name === 'BinaryExpression' && first && second && third && rest.length === 0) {
    const equality = text.slice(second.from, second.to) === '==' || second.name === 'is';
    const [left, right] = [unwrap(first), unwrap(third)];
    if (equality && left.name === 'CallExpression') return { call: left, expected: right };
    if (equality && right.name === 'CallExpression') return { call: right, expected: left };
  }
  throw new SalvageProblem('unsupported-assert');
}

/** Brackets around a single expression mean nothing. */
function unwrap(node: SyntaxNode): SyntaxNode {
  let at = node;
  for (let depth = 0; at.name === 'ParenthesizedExpression' && depth < 64; depth++) at = children(at)[1]!;
  return at;
}

function calledName(callee: SyntaxNode, text: string): string {
  const named = callee.name === 'MemberExpression' ? callee.lastChild! : callee;
  return text.slice(named.from, named.to);
}

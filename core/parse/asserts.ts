// Reads one assertion as a test: `assert f(args) == expected`, similar forms, and unittest's methods. Nothing runs.
import type { SyntaxNode } from '@lezer/common';
import type { TestCase } from '../schema/problem.js';
import type { Value } from '../schema/value.js';
import { itemsOf, LiteralProblem, type LiteralReason } from './arithmetic.js';
import { Evaluation } from './evaluation.js';
import type { Signature } from './signature.js';
import { children, elements, parsePython, singleExpression } from './tree.js';

export type SalvageReason = LiteralReason | 'shape' | 'arity' | 'wrong-function' | 'unsupported-assert';

export class SalvageProblem extends Error {
  constructor(readonly reason: SalvageReason) {
    super(reason);
  }
}

/** The result of `read`; undefined if the text that `read` parses is no literal or no assert. `refused` is told the reason. */
export function attempt<T>(read: () => T, refused?: (reason: SalvageReason) => void): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SalvageProblem || error instanceof LiteralProblem)) throw error;
    refused?.(error.reason);
    return undefined;
  }
}

export interface AssertOptions {
  entry: string; // 'f', or 'Class.f' for the method f of any object
  arity?: number | undefined;
  signature?: Signature | undefined; // without it, no argument can be given by name
  truth?: boolean | undefined; // whether bare asserts test the truth value of an answer; by default they expect True or False
}

/** Names that earlier statements have bound to literals or to answers of the function under test. */
export interface Bindings {
  names: Map<string, Value>;
  answers: Map<string, Value[]>; // the arguments of the call whose answer the name stands for
}
export const noBindings = (): Bindings => ({ names: new Map(), answers: new Map() });

/**
 * `assert f(…) == x`, `x == f(…)`, `f(…) is None|True|False`, bare `f(…)` (True) and `not f(…)` (False), with or
 * without a message or brackets, and the equivalent methods of unittest. f may be called through an object
 * (`Solution().f`).
 * @throws SalvageProblem, LiteralProblem
 */
export function assertedTest(source: string, options: AssertOptions): TestCase {
  const { text, top } = parsePython(source.trim());
  if (!top.firstChild) throw new SalvageProblem('syntax');
  return claimedTest(top.firstChild, text, options, noBindings());
}

/** True for an assert statement and for a call of one of unittest's assert methods. */
export function isClaim(statement: SyntaxNode, text: string): boolean {
  return statement.name === 'AssertStatement' || unittestMethod(statement, text) !== undefined;
}

/** @throws SalvageProblem, LiteralProblem */
export function claimedTest(statement: SyntaxNode, text: string, options: AssertOptions, bound: Bindings): TestCase {
  const reader = new ClaimReader(text, options, bound);
  const method = unittestMethod(statement, text);
  if (method !== undefined) return reader.unittest(method, children(statement)[0]!);
  const claim = statement.name === 'AssertStatement' ? children(statement)[1] : undefined;
  if (!claim) throw new SalvageProblem('syntax');
  return reader.read(unwrap(claim));
}

/** The arguments of a call to the function under test. @throws SalvageProblem, LiteralProblem */
export function calledWith(call: SyntaxNode, text: string, options: AssertOptions, bound: Bindings): Value[] {
  return new ClaimReader(text, options, bound).argumentsOf(call);
}

/** LeetCodeDataset's helpers: they make a tree or a linked list of a list, and compare two of them. */
const NODE_MAKERS = ['tree_node', 'list_node'];
const NODE_EQUALITY = /^is_same_(?:tree|list)\s*\(/;
const NODES = /\b(?:Tree|List)Node\b/;

const EQUAL = /^assert(?:Equals?|ListEqual|TupleEqual|DictEqual|SetEqual|SequenceEqual|MultiLineEqual|Is)$/;

class ClaimReader {
  private readonly evaluation: Evaluation;
  private readonly hasNodes: boolean;
  constructor(
    private readonly text: string,
    private readonly options: AssertOptions,
    private readonly bound: Bindings,
  ) {
    const { signature } = options;
    this.hasNodes =
      signature !== undefined && [...signature.annotations, signature.result].some((one) => NODES.test(one));
    this.evaluation = new Evaluation(text, undefined, bound.names, this.hasNodes ? NODE_MAKERS : []);
  }

  read(claim: SyntaxNode): TestCase {
    if (this.hasNodes && claim.name === 'CallExpression' && NODE_EQUALITY.test(this.text.slice(claim.from, claim.to))) {
      const [left, right] = elements(children(claim)[1]!).map(unwrap);
      if (left && right) return this.either(left, right);
    }
    const { answer, negated } = this.tested(claim);
    if (this.isAnswer(answer)) return this.truth(answer, !negated);
    const [first, second, third, ...rest] = children(claim);
    if (claim.name === 'BinaryExpression' && first && second && third && rest.length === 0) {
      if (this.text.slice(second.from, second.to) === '==' || second.name === 'is')
        return this.either(unwrap(first), unwrap(third));
    }
    throw new SalvageProblem('unsupported-assert');
  }

  /** The call whose truth value an expression tests: `f(…)` in `not f(…)` and, in problem files, `bool(f(…))`. */
  private tested(expression: SyntaxNode): { answer: SyntaxNode; negated: boolean } {
    const [first, second] = children(expression);
    const isNot = expression.name === 'UnaryExpression' && first!.name === 'not';
    const isBool = this.options.truth && this.isBool(expression);
    const inner = isNot ? second : isBool ? elements(second!)[0] : undefined;
    if (!inner) return { answer: expression, negated: false };
    const operand = unwrap(inner);
    if (!this.options.truth) return { answer: operand, negated: isNot };
    const { answer, negated } = this.tested(operand);
    return { answer, negated: negated !== isNot };
  }

  private isBool(node: SyntaxNode): boolean {
    return (
      node.name === 'CallExpression' &&
      this.options.entry !== 'bool' &&
      /^bool\s*\(/.test(this.text.slice(node.from, node.to))
    );
  }

  /** `self.assertEqual(f(…), x)` and the like. */
  unittest(method: string, call: SyntaxNode): TestCase {
    const [first, second] = elements(children(call)[1]!).map(unwrap);
    if (EQUAL.test(method) && first && second) return this.either(first, second);
    if (method === 'assertIsNone' && first && this.isAnswer(first)) return this.test(first, null);
    if (method === 'assertFalse' && first) {
      const { answer, negated } = this.tested(first);
      if (this.isAnswer(answer)) return this.truth(answer, negated);
    }
    if (method === 'assertTrue' && first) return this.read(first);
    throw new SalvageProblem('unsupported-assert');
  }

  argumentsOf(call: SyntaxNode): Value[] {
    const [callee, list] = children(call) as [SyntaxNode, SyntaxNode];
    if (calledName(callee, this.text) !== nameOf(this.options.entry)) throw new SalvageProblem('wrong-function');
    const given = elements(list);
    const args: Value[] = [];
    const named: [string, Value][] = [];
    for (let i = 0; i < given.length; i++) {
      const node = given[i]!;
      if (node.name === '*') args.push(...starred(this.evaluation.value(given[++i]!)));
      else if (node.name === '**') named.push(...entriesOf(this.evaluation.value(given[++i]!)));
      else if (given[i + 1]?.name === 'AssignOp') {
        named.push([this.text.slice(node.from, node.to), this.evaluation.value(given[i + 2]!)]);
        i += 2;
      } else if (named.length > 0) throw new SalvageProblem('syntax');
      else args.push(this.evaluation.value(node));
    }
    if (named.length > 0) takeNamed(args, named, this.options.signature);
    const { arity } = this.options;
    if (arity !== undefined && args.length !== arity) throw new SalvageProblem('arity');
    return args;
  }

  private either(left: SyntaxNode, right: SyntaxNode): TestCase {
    if (this.options.truth && (this.isBool(left) || this.isBool(right))) {
      const { answer, negated } = this.tested(this.isBool(left) ? left : right);
      const expected = this.evaluation.value(this.isBool(left) ? right : left);
      if (this.isAnswer(answer) && typeof expected === 'boolean') return this.truth(answer, expected !== negated);
    }
    if (this.isAnswer(left)) return this.test(left, right);
    if (this.isAnswer(right)) return this.test(right, left);
    throw new SalvageProblem('unsupported-assert');
  }

  private isAnswer(node: SyntaxNode): boolean {
    if (node.name === 'CallExpression') return true;
    return node.name === 'VariableName' && this.bound.answers.has(this.text.slice(node.from, node.to));
  }

  private truth(answer: SyntaxNode, expected: boolean): TestCase {
    const test = this.test(answer, expected);
    return this.options.truth ? { ...test, truth: true } : test;
  }

  private test(answer: SyntaxNode, expected: SyntaxNode | Value): TestCase {
    const args =
      answer.name === 'CallExpression'
        ? this.argumentsOf(answer)
        : this.bound.answers.get(this.text.slice(answer.from, answer.to))!;
    return { args, expected: isNode(expected) ? this.evaluation.value(expected) : expected };
  }
}

function starred(value: Value): Value[] {
  const items = itemsOf(value);
  if (items) return items;
  throw new SalvageProblem('unsupported-assert');
}

function entriesOf(value: Value): [string, Value][] {
  const entries = typeof value === 'object' && value !== null && 'd' in value ? value.d : undefined;
  if (entries?.every((entry): entry is [string, Value] => typeof entry[0] === 'string')) return entries;
  throw new SalvageProblem('unsupported-assert');
}

/**
 * Adds arguments given by name to those given by position, as the signature orders them. An argument that is left out
 * between them has its default.
 * @throws SalvageProblem, LiteralProblem
 */
export function takeNamed(args: Value[], named: readonly (readonly [string, Value])[], signature?: Signature): void {
  if (!signature) throw new SalvageProblem('unsupported-assert');
  const { names, defaults, keywordOnly, hasKeywords } = signature;
  const values = new Map<number, Value>();
  for (const [name, value] of named) {
    const position = name === '' ? -1 : names.indexOf(name);
    // tests have positional arguments only
    if (position < 0)
      throw new SalvageProblem(hasKeywords || keywordOnly.includes(name) ? 'unsupported-assert' : 'arity');
    if (position < args.length || values.has(position)) throw new SalvageProblem('arity');
    values.set(position, value);
  }
  for (let i = args.length; i <= Math.max(...values.keys()); i++) {
    const left = defaults[i];
    if (!values.has(i) && left === undefined) throw new SalvageProblem('arity');
    args.push(values.has(i) ? values.get(i)! : literal(left!));
  }
}

function literal(source: string): Value {
  const parsed = parsePython(source);
  return new Evaluation(parsed.text).value(singleExpression(parsed));
}

const isNode = (x: SyntaxNode | Value): x is SyntaxNode =>
  typeof x === 'object' && x !== null && 'from' in x && 'to' in x && 'name' in x;

function unittestMethod(statement: SyntaxNode, text: string): string | undefined {
  const call = statement.name === 'ExpressionStatement' ? statement.firstChild : null;
  const callee = call?.name === 'CallExpression' ? call.firstChild : null;
  return callee ? /^self\.(assert\w+)$/.exec(text.slice(callee.from, callee.to))?.[1] : undefined;
}

/** The expression inside any brackets around it. */
function unwrap(node: SyntaxNode): SyntaxNode {
  let at = node;
  for (let depth = 0; at.name === 'ParenthesizedExpression' && depth < 64; depth++) at = children(at)[1]!;
  return at;
}

/** The name of the function in an entry. */
export const nameOf = (entry: string): string => entry.slice(entry.lastIndexOf('.') + 1);

function calledName(callee: SyntaxNode, text: string): string {
  const named = callee.name === 'MemberExpression' ? callee.lastChild! : callee;
  return text.slice(named.from, named.to);
}

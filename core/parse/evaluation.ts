// Converts literal nodes of a syntax tree to Values. Evaluates constant arithmetic only, within caps.
import type { SyntaxNode } from '@lezer/common';
import type { Value } from '../schema/value.js';
import { binary, isTuple, itemsOf, LiteralProblem, MAX_LENGTH, unary, weightOf } from './arithmetic.js';
import { floatRepr, parseNumber, toBigInt, toFloat } from './numbers.js';
import { parseText, toBase64 } from './text.js';
import { children, elements } from './tree.js';

export const MAX_DEPTH = 64;
export const MAX_NODES = 20_000; // values in one test

const CONSTANTS: Readonly<Record<string, Value>> = {
  null: null,
  true: true,
  false: false,
  inf: { f: 'inf' },
  nan: { f: 'nan' },
  NaN: { f: 'nan' },
  Infinity: { f: 'inf' },
};
const MEMBERS: Readonly<Record<string, Value>> = {
  'math.inf': { f: 'inf' },
  'math.nan': { f: 'nan' },
  'math.pi': { f: '3.141592653589793' },
  'math.e': { f: '2.718281828459045' },
};

/** Converts the nodes of one text. The caps hold for the whole text. */
export class Evaluation {
  private nodes = 0;
  constructor(
    private readonly text: string,
    private readonly maxNodes: number = MAX_NODES,
    private readonly names: ReadonlyMap<string, Value> = new Map(), // names that the test has bound to literals
    private readonly makers: readonly string[] = [], // functions of one argument whose calls are read as that argument
  ) {}

  /** @throws LiteralProblem */
  value(node: SyntaxNode, depth = 0): Value {
    if (++this.nodes > this.maxNodes) throw new LiteralProblem('too-large', `more than ${this.maxNodes} values`);
    if (depth > MAX_DEPTH) throw new LiteralProblem('too-large', `nested deeper than ${MAX_DEPTH}`);
    const next = depth + 1;
    const source = (): string => this.text.slice(node.from, node.to);
    switch (node.name) {
      case 'Number':
        return parseNumber(source()) ?? fail('syntax', `${source()} is no number`);
      case 'Boolean':
        return source() === 'True';
      case 'None':
        return null;
      case 'String':
      case 'FormatString':
      case 'ContinuedString':
        return this.joined(node);
      case 'VariableName':
        if (this.names.has(source())) return this.charged(this.names.get(source())!);
        return Object.hasOwn(CONSTANTS, source()) ? CONSTANTS[source()]! : fail('not-literal', `${source()} is a name`);
      case 'MemberExpression':
        return Object.hasOwn(MEMBERS, source()) ? MEMBERS[source()]! : fail('not-literal', `${source()} is no literal`);
      case 'ParenthesizedExpression':
        return this.value(only(children(node).slice(1, -1)), next);
      case 'TupleExpression':
        return { t: this.items(node, next) };
      case 'ArrayExpression':
        return this.items(node, next);
      case 'SetExpression':
        return setOf(this.items(node, next));
      case 'DictionaryExpression':
        return this.dict(node, next);
      case 'UnaryExpression': {
        const [operator, operand] = children(node) as [SyntaxNode, SyntaxNode];
        if (operator.name !== 'ArithOp' && operator.name !== 'BitOp')
          return fail('not-literal', 'a logical expression');
        return this.charged(unary(this.text.slice(operator.from, operator.to), this.value(operand, next)));
      }
      case 'BinaryExpression': {
        const [left, operator, right, ...rest] = children(node) as [SyntaxNode, SyntaxNode, SyntaxNode];
        if (rest.length > 0 || !/^(Arith|Bit)Op$/.test(operator.name))
          return fail('not-literal', 'a logical expression');
        return this.charged(
          binary(this.text.slice(operator.from, operator.to), this.value(left, next), this.value(right, next)),
        );
      }
      case 'CallExpression':
        return this.charged(this.call(node, next));
      default:
        return fail('not-literal', `${node.name} is no literal`);
    }
  }

  /** Counts all parts of a computed value, since a short text such as `[[0] * 9999] * 9` can be much data. */
  private charged(value: Value): Value {
    this.nodes += weightOf(value);
    if (this.nodes > this.maxNodes) throw new LiteralProblem('too-large', `more than ${this.maxNodes} values`);
    return value;
  }

  /** The values between brackets. @throws LiteralProblem for a starred one */
  private items(node: SyntaxNode, depth: number): Value[] {
    return elements(node).map((child) =>
      child.name === '*' ? fail('not-literal', 'a starred value') : this.value(child, depth),
    );
  }

  private dict(node: SyntaxNode, depth: number): Value {
    const inner = elements(node).filter((child) => child.name !== ':');
    if (inner.some((child) => child.name === '**') || inner.length % 2 !== 0)
      return fail('not-literal', 'not a plain dict');
    const out = new Map<string, [Value, Value]>();
    for (let i = 0; i < inner.length; i += 2) {
      const key = this.value(inner[i]!, depth);
      const id = hashKey(key);
      const value = this.value(inner[i + 1]!, depth);
      out.set(id, [out.get(id)?.[0] ?? key, value]); // as in Python, the first key and the last value
    }
    return { d: [...out.values()] };
  }

  private joined(node: SyntaxNode): Value {
    const pieces = node.name === 'ContinuedString' ? children(node) : [node];
    const literals = pieces.map((piece) => parseText(this.text.slice(piece.from, piece.to)));
    let text = '';
    const bytes: number[] = [];
    for (const literal of literals) {
      if (!literal) return fail('not-literal', 'a string that needs evaluation');
      if (literal.kind !== literals[0]!.kind) return fail('syntax', 'bytes and text cannot be joined');
      if (literal.kind === 'str') text += literal.text;
      else for (const byte of literal.bytes) bytes.push(byte);
    }
    return literals[0]!.kind === 'str' ? text : { b: toBase64(bytes) };
  }

  private call(node: SyntaxNode, depth: number): Value {
    const [callee, list] = children(node) as [SyntaxNode, SyntaxNode];
    const name = this.text.slice(callee.from, callee.to);
    const args = elements(list);
    if (args.some((arg) => arg.name === '*' || arg.name === '**' || arg.name === 'AssignOp'))
      return fail('not-literal', `a call of ${name}`);
    const [first] = args;
    if (args.length === 0) {
      const empty: Readonly<Record<string, Value>> = {
        set: { s: [] },
        frozenset: { s: [] },
        list: [],
        tuple: { t: [] },
        dict: { d: [] },
        str: '',
      };
      if (Object.hasOwn(empty, name)) return empty[name]!;
    }
    if (args.length === 1 && name === 'float') {
      const value = this.value(first!, depth);
      const special = typeof value === 'string' && /^\s*([+-]?)(inf|infinity|nan)\s*$/i.exec(value);
      if (special) return { f: special[2]!.toLowerCase() === 'nan' ? 'nan' : special[1] === '-' ? '-inf' : 'inf' };
      const int = toBigInt(value);
      const float = toFloat(value) ?? (int === undefined ? undefined : Number(int));
      if (float !== undefined) return { f: floatRepr(float) };
    }
    if (args.length === 1 && this.makers.includes(name)) return this.value(first!, depth);
    if (args.length === 1 && ['list', 'tuple', 'set', 'frozenset'].includes(name)) {
      const items = this.elements(first!, depth);
      return name === 'list' ? items : name === 'tuple' ? { t: items } : setOf(items);
    }
    return fail('not-literal', `a call of ${name}`);
  }

  /** The elements that list(…) would give for a range, or for a literal that has an order. */
  private elements(node: SyntaxNode, depth: number): Value[] {
    if (node.name === 'CallExpression') {
      const [callee, list] = children(node) as [SyntaxNode, SyntaxNode];
      if (this.text.slice(callee.from, callee.to) === 'range') {
        return rangeOf(elements(list).map((arg) => this.value(arg, depth)));
      }
    }
    const value = this.value(node, depth);
    if (typeof value === 'string') return [...value];
    return itemsOf(value) ?? fail('not-literal', 'values that cannot be listed');
  }
}

function rangeOf(bounds: Value[]): Value[] {
  if (bounds.length < 1 || bounds.length > 3 || !bounds.every((bound) => typeof bound === 'number'))
    return fail('not-literal', 'a range');
  const numbers = bounds as number[];
  const [start, stop, step] = numbers.length === 1 ? [0, numbers[0]!, 1] : [numbers[0]!, numbers[1]!, numbers[2] ?? 1];
  if (step === 0) return fail('not-literal', 'a range of step 0');
  const count = Math.max(0, Math.ceil((stop - start) / step));
  if (count > MAX_LENGTH) return fail('too-large', 'a range is too large');
  return Array.from({ length: count }, (_, i) => start + i * step);
}

/** Equal for values that are the same key in Python (1, 1.0 and True). */
function hashKey(value: Value): string {
  if (typeof value === 'boolean') return `n${Number(value)}`;
  const float = toFloat(value);
  if (float !== undefined && Number.isInteger(float)) return `n${BigInt(float)}`;
  const int = toBigInt(value);
  if (int !== undefined) return `n${int}`;
  if (Array.isArray(value) || (value !== null && typeof value === 'object' && 'd' in value))
    return fail('not-literal', 'an unhashable key');
  return isTuple(value) ? `t(${value.t.map(hashKey).join(',')})` : `v${JSON.stringify(value)}`;
}

function setOf(items: Value[]): Value {
  const unique = new Map<string, Value>();
  for (const item of items) {
    const key = hashKey(item);
    if (!unique.has(key)) unique.set(key, item);
  }
  return { s: [...unique.values()] };
}

const only = (nodes: SyntaxNode[]): SyntaxNode =>
  nodes.length === 1 ? nodes[0]! : fail('not-literal', 'one value is expected');

function fail(reason: LiteralProblem['reason'], message: string): never {
  throw new LiteralProblem(reason, message);
}

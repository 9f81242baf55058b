// Literals of test source that stands for itself: what is read here has, in every Python, exactly this value, and reading
// it cannot fail there. So no JSON-isms, no arithmetic whose last bit is in doubt, no value that changes its type on the
// way into the sandbox. evaluation.ts, which reads what models meant, is more forgiving.
import type { SyntaxNode } from '@lezer/common';
import type { Value } from '../schema/value.js';
import { LiteralProblem } from './arithmetic.js';
import { Evaluation } from './evaluation.js';
import { children } from './tree.js';

/** Calls that stand for values without a literal; what is bound to one of these names makes them another's. */
export const LITERAL_CALLS = new Set(['set', 'list', 'tuple', 'dict', 'str', 'float', 'range']);
const PLAIN = new Set([
  ...['None', 'Boolean', 'Number', 'String', 'ContinuedString', 'ArgList', 'ParenthesizedExpression'],
  ...['TupleExpression', 'ArrayExpression', 'SetExpression', 'DictionaryExpression'],
]);
const EXACT = /^(?:\+|-|\*|\/\/|%|<<)$/;
const MAX_DIGITS = 4000; // Python refuses ints of more than 4300 digits

const doubt = (what: string): LiteralProblem => new LiteralProblem('not-literal', what);

/** Names that are bound to literals, where a test says so. A list, dict or set among them can be used once. */
export class Names {
  readonly bound = new Map<string, Value>();
  private readonly used = new Set<string>();

  bind(name: string, value: Value): void {
    this.bound.set(name, value);
    this.used.delete(name);
  }

  drop(name: string): void {
    this.bound.delete(name);
  }

  use(name: string): void {
    if (!this.bound.has(name)) throw doubt(`${name} is a name`);
    if (this.used.has(name) && isMutable(this.bound.get(name)!)) throw doubt(`${name} may have been changed`);
    this.used.add(name);
  }
}

/**
 * @param calls takes note of the names of LITERAL_CALLS that the literal rests on
 * @throws LiteralProblem
 */
export function exactLiteral(node: SyntaxNode, text: string, names: Names, calls: Set<string>): Value {
  const evaluation = new Evaluation(text, undefined, names.bound);
  check(node, text, names, calls);
  const value = evaluation.value(node);
  if (!isHashed(value)) throw doubt('a key that Python would take otherwise');
  return value;
}

function check(node: SyntaxNode, text: string, names: Names, calls: Set<string>): void {
  const source = text.slice(node.from, node.to);
  if (node.name === 'VariableName') {
    names.use(source);
    return;
  }
  if (node.name === 'Number' && source.length > MAX_DIGITS) throw doubt('a long number');
  // two halves of a pair are two characters in Python and one here; bytes are written in ASCII
  if (node.name === 'String' && (/\\u[dD][89a-fA-F]|\\U0000[dD][89a-fA-F]/.test(source) || isWideBytes(source)))
    throw doubt('a string');
  const inner = children(node).filter(({ name }) => /^[A-Z]/.test(name) || name === '*' || name === '**');
  if (node.name === 'CallExpression') {
    const [callee, list] = inner as [SyntaxNode, SyntaxNode];
    const name = text.slice(callee.from, callee.to);
    if (!LITERAL_CALLS.has(name) || names.bound.has(name)) throw doubt(`a call of ${name}`);
    calls.add(name);
    check(list, text, names, calls);
    if (name === 'float' && children(list)[1]?.name !== 'String') requireFinite(node, text);
    return;
  }
  if (node.name === 'UnaryExpression') {
    check(inner.at(-1)!, text, names, calls);
    return;
  }
  if (node.name === 'BinaryExpression') {
    const [left, operator, right] = inner as [SyntaxNode, SyntaxNode, SyntaxNode];
    for (const side of [left, right]) check(side, text, names, calls);
    const sign = text.slice(operator.from, operator.to);
    if (!EXACT.test(sign) && !isExactBeyond(sign, [left, right], text)) throw doubt(`operator ${sign}`);
    return;
  }
  if (!PLAIN.has(node.name)) throw doubt(node.name);
  if (node.name === 'String' || node.name === 'Number') return;
  for (const child of inner) check(child, text, names, calls);
}

/** Division of ints that floats hold, and powers of such ints. */
function isExactBeyond(sign: string, sides: SyntaxNode[], text: string): boolean {
  if (sign !== '/' && sign !== '**') return false;
  const values = sides.map((side) => new Evaluation(text).value(side));
  return values.every((value) => typeof value === 'number') && (sign === '/' || (values[1] as number) >= 0);
}

/** float() of an int beyond floats raises. */
function requireFinite(node: SyntaxNode, text: string): void {
  const value = new Evaluation(text).value(node);
  if (value !== null && typeof value === 'object' && 'f' in value && value.f.endsWith('inf'))
    throw doubt('a large int');
}

const isWideBytes = (source: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: everything outside ASCII
  /^[rR]?[bB]/.test(source) && /[^\x00-\x7f]/.test(source);

function isMutable(value: Value): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (Array.isArray(value) || 's' in value || 'd' in value) return true;
  return 't' in value && value.t.some(isMutable);
}

/** What is hashed can be, and has no nan: each one is a key of its own in Python, and all are one here. */
function isHashed(value: Value, within = false): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every((x) => isHashed(x, within));
  if ('t' in value) return value.t.every((x) => isHashed(x, within));
  if ('s' in value) return !within && value.s.every((x) => isHashed(x, true));
  if ('d' in value) return value.d.every(([key, x]) => isHashed(key, true) && isHashed(x, within));
  if ('f' in value) return !within || value.f !== 'nan';
  return !within || !('c' in value);
}

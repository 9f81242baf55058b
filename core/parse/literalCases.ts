// The rows of `@pytest.mark.parametrize` with literals, and the names that pytest gives to them.
import type { SyntaxNode } from '@lezer/common';
import type { Value } from '../schema/value.js';
import { isTuple, LiteralProblem } from './arithmetic.js';
import { toBigInt, toFloat } from './numbers.js';
import { parseText } from './text.js';
import { children, parts } from './tree.js';

export interface Cases {
  names: string[];
  rows: { id: string | undefined; values: Value[] }[];
}

const doubt = (what: string): LiteralProblem => new LiteralProblem('not-literal', what);

/** @throws LiteralProblem where it is not a table of literals and nothing else */
export function readCases(decorated: SyntaxNode, text: string, literal: (node: SyntaxNode) => Value): Cases {
  const slice = (node: SyntaxNode): string => text.slice(node.from, node.to);
  const decorators = parts(decorated).filter((node) => node.name === 'Decorator');
  const [decorator] = decorators as [SyntaxNode];
  const list = decorator.getChild('ArgList');
  if (decorators.length !== 1 || !list || !/^@pytest\.mark\.parametrize\s*\(/.test(slice(decorator)))
    throw doubt('a decorator');
  const [first, table, ...others] = elements(list);
  if (!first || !table || others.length > 0 || !/^(?:Array|Tuple)Expression$/.test(table.name)) throw doubt('a table');
  const names = namesOf(literal(first));
  const rows = elements(table).map((node) => {
    const isParam = node.name === 'CallExpression' && slice(children(node)[0]!) === 'pytest.param';
    const { given, id } = isParam ? ofParam(children(node)[1]!, slice) : { given: [node], id: undefined };
    const read = given.map(literal);
    const values = isParam || names.length === 1 ? read : itemsOf(read[0]!);
    if (values.length !== names.length) throw doubt('a row of another length');
    return { id, values };
  });
  if (rows.length === 0) throw doubt('no row');
  return { names, rows };
}

const elements = (node: SyntaxNode): SyntaxNode[] =>
  children(node)
    .slice(1, -1)
    .filter((child) => child.name !== ',');

function itemsOf(value: Value): Value[] {
  if (Array.isArray(value)) return value;
  if (isTuple(value)) return value.t;
  throw doubt('a row');
}

function namesOf(value: Value): string[] {
  const names = typeof value === 'string' ? value.split(',').map((name) => name.trim()) : itemsOf(value);
  const isPlain = names.every((name): name is string => typeof name === 'string' && /^[A-Za-z]\w*$/.test(name));
  if (!isPlain || new Set(names).size < names.length || (names.length === 1 && typeof value !== 'string'))
    throw doubt('names of parameters');
  return names as string[];
}

/** `pytest.param(1, 2, id="x")`: marks change what a row means. */
function ofParam(
  list: SyntaxNode,
  slice: (node: SyntaxNode) => string,
): { given: SyntaxNode[]; id: string | undefined } {
  const nodes = elements(list);
  const at = nodes.findIndex((node) => node.name === 'AssignOp');
  if (at < 0) return { given: nodes, id: undefined };
  const written =
    at === nodes.length - 2 && slice(nodes[at - 1]!) === 'id' ? parseText(slice(nodes[at + 1]!)) : undefined;
  if (written?.kind !== 'str' || written.text === '') throw doubt('a row with more than an id');
  return { given: nodes.slice(0, at - 1), id: escaped(written.text) };
}

/** As pytest names them. @throws LiteralProblem where two rows would have one name, which its versions tell apart differently */
export function caseNames({ names, rows }: Cases): string[] {
  const ids = rows.map(({ id, values }, i) => id ?? values.map((value, k) => nameOf(value, names[k]!, i)).join('-'));
  if (new Set(ids).size < ids.length) throw doubt('rows of one name');
  return ids;
}

function nameOf(value: Value, name: string, row: number): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'string') return escaped(value);
  const int = toBigInt(value);
  if (int !== undefined) return String(int);
  if (toFloat(value) !== undefined) return (value as { f: string }).f;
  if (typeof value === 'object' && ('b' in value || 'c' in value)) throw doubt('a name for bytes or complex numbers');
  return `${name}${row}`;
}

const SHORT: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Python's codec unicode_escape. */
function escaped(text: string): string {
  let out = '';
  for (const char of text) {
    const code = char.codePointAt(0)!;
    const hex = (width: number): string => code.toString(16).padStart(width, '0');
    if (SHORT[char]) out += SHORT[char];
    else if (code >= 0x20 && code < 0x7f) out += char;
    else out += code < 0x100 ? `\\x${hex(2)}` : code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`;
  }
  return out;
}

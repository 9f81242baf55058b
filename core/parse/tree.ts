// Text to syntax tree through a grammar for Python, and the few ways in which the parsers here walk it.
import type { SyntaxNode, Tree } from '@lezer/common';
import { parser } from '@lezer/python';
import { LiteralProblem } from './arithmetic.js';

/** A text that parses, and its tree; positions are those of this text, not of the one that was given. */
export interface Source {
  text: string;
  top: SyntaxNode;
}

export const MAX_SOURCE = 200_000; // characters

/** @throws LiteralProblem where the text does not parse without error */
export function parsePython(given: string): Source {
  if (given.length > MAX_SOURCE) throw new LiteralProblem('too-large', `more than ${MAX_SOURCE} characters`);
  const text = spellFloats(given);
  const tree = parser.parse(text);
  if (hasError(tree)) throw new LiteralProblem('syntax', 'it does not parse');
  return { text, top: tree.topNode };
}

const STRINGS_AND_FLOATS =
  /'''[\s\S]*?'''|"""[\s\S]*?"""|'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"|#[^\n]*|(?<![\w.])(\d[\d_]*)\.(?![.\d]|[A-Za-z_]\w*\s*\(|[A-DF-IK-Za-df-ik-z_])/g;

/** The grammar does not know `5.`: written as `5.0`, strings and comments left alone. */
export function spellFloats(text: string): string {
  return text.replace(STRINGS_AND_FLOATS, (whole, digits: string | undefined) =>
    digits === undefined ? whole : `${digits}.0`,
  );
}

export function hasError(tree: Tree): boolean {
  const cursor = tree.cursor();
  do {
    if (cursor.type.isError) return true;
  } while (cursor.next());
  return false;
}

/** The children of a node that are not punctuation or comments. */
export function parts(node: SyntaxNode): SyntaxNode[] {
  const out: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) {
    if (/^[A-Za-z]/.test(child.name) && child.name !== 'Comment') out.push(child);
  }
  return out;
}

export function singleExpression({ top }: Source): SyntaxNode {
  const statements = parts(top);
  const inner =
    statements.length === 1 && statements[0]!.name === 'ExpressionStatement' ? children(statements[0]!) : [];
  if (inner.length === 1) return inner[0]!;
  throw new LiteralProblem(statements.length === 0 ? 'syntax' : 'not-literal', 'one value is expected');
}

/** All children but comments. */
export function children(node: SyntaxNode): SyntaxNode[] {
  const out: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) if (child.name !== 'Comment') out.push(child);
  return out;
}

/** The statements of a module or block; those of one line that semicolons part are each one. */
export function statementsOf(node: SyntaxNode): SyntaxNode[] {
  return parts(node).flatMap((child) => (child.name === 'StatementGroup' ? parts(child) : [child]));
}

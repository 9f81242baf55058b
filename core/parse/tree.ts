// Parses Python text to a syntax tree, and walks it.
import type { SyntaxNode, Tree } from '@lezer/common';
import { parser } from '@lezer/python';
import { LiteralProblem } from './arithmetic.js';

/** A text that parses, and its tree. Positions refer to this text, which may differ from the given one. */
export interface Source {
  text: string;
  top: SyntaxNode;
}

const MAX_SOURCE = 200_000; // characters

/** @throws LiteralProblem if the text does not parse */
export function parsePython(given: string): Source {
  if (given.length > MAX_SOURCE) throw new LiteralProblem('too-large', `more than ${MAX_SOURCE} characters`);
  const text = spellFloats(given);
  const tree = treeOf(text);
  if (!tree || hasError(tree.topNode)) throw new LiteralProblem('syntax', 'it does not parse');
  return { text, top: tree.topNode };
}

/** Python allows 200 brackets within each other. This grammar's parser takes quadratic time for thousands. */
const MAX_BRACKETS = 200;
const SHORT = 2000; // the most characters of a text whose brackets are not counted
/** Strings and comments. An open string ends with its line or the text: a search from each quote would take quadratic time. */
const NO_CODE =
  /'''[\s\S]*?(?:'''|$)|"""[\s\S]*?(?:"""|$)|'(?:\\[\s\S]|[^'\\\n])*'?|"(?:\\[\s\S]|[^"\\\n])*"?|#[^\n]*/g;

let latest: { text: string; tree: Tree | undefined } | undefined; // a program's tree is often needed again

/** The syntax tree of a text, perhaps with errors; undefined if its brackets are nested deeper than Python allows. */
export function treeOf(text: string): Tree | undefined {
  if (latest?.text === text) return latest.tree;
  const isTooDeep = text.length > SHORT && bracketsIn(text.replace(NO_CODE, '')) > MAX_BRACKETS;
  const tree = isTooDeep ? undefined : parser.parse(text);
  latest = { text, tree };
  return tree;
}

/** The depth of nested brackets, without regard to their kinds. */
function bracketsIn(code: string): number {
  let [depth, deepest] = [0, 0];
  for (const char of code) {
    if ('([{'.includes(char)) deepest = Math.max(deepest, ++depth);
    else if (')]}'.includes(char) && depth > 0) depth--;
  }
  return deepest;
}

const STRINGS_AND_FLOATS = new RegExp(
  `${NO_CODE.source}|(?<![\\w.])(\\d[\\d_]*)\\.(?![.\\d]|[A-Za-z_]\\w*\\s*\\(|[A-DF-IK-Za-df-ik-z_])`,
  'g',
);

/** Writes `5.` as `5.0`, which the grammar knows. Strings and comments stay as they are. */
function spellFloats(text: string): string {
  return text.replace(STRINGS_AND_FLOATS, (whole, digits: string | undefined) =>
    digits === undefined ? whole : `${digits}.0`,
  );
}

export function hasError(node: SyntaxNode): boolean {
  let found = false;
  node.cursor().iterate(({ type }) => {
    found ||= type.isError;
    return !found;
  });
  return found;
}

/** The children of a node except punctuation and comments. */
export function parts(node: SyntaxNode): SyntaxNode[] {
  const out: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling)
    if (/^[A-Za-z]/.test(child.name) && child.name !== 'Comment') out.push(child);
  return out;
}

export function singleExpression({ top }: Source): SyntaxNode {
  const statements = parts(top);
  const inner =
    statements.length === 1 && statements[0]!.name === 'ExpressionStatement' ? children(statements[0]!) : [];
  if (inner.length === 1) return inner[0]!;
  throw new LiteralProblem(statements.length === 0 ? 'syntax' : 'not-literal', 'one value is expected');
}

/** All children except comments. */
export function children(node: SyntaxNode): SyntaxNode[] {
  const out: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) if (child.name !== 'Comment') out.push(child);
  return out;
}

/** The comma-separated children of a node between its brackets. */
export function elements(node: SyntaxNode): SyntaxNode[] {
  return children(node)
    .slice(1, -1)
    .filter((child) => child.name !== ',');
}

/** The statements of a module or block, also those separated by semicolons. */
export function statementsOf(node: SyntaxNode): SyntaxNode[] {
  return parts(node).flatMap((child) => (child.name === 'StatementGroup' ? parts(child) : [child]));
}

// Python signatures: the name, the parameters and their annotations.
import type { SyntaxNode } from '@lezer/common';
import { takePiece } from './scan.js';
import { hasError, parts, treeOf } from './tree.js';

export interface Signature {
  entry: string;
  owner?: string; // the class that defines it
  isMethod: boolean; // its first parameter is the object or the class; the fields below leave this parameter out
  required: number; // how many positional arguments have no default
  most: number; // how many positional arguments it takes; Infinity with *args
  names: string[]; // the positional parameters; '' for one that no keyword can name
  defaults: (string | undefined)[]; // the text of the default of each
  annotations: string[]; // the annotation of each, or ''
  keywordOnly: string[]; // parameters that no positional argument reaches
  hasKeywords: boolean; // whether it has **kwargs
  result: string; // the annotation of the result, or ''
}

/** The number of arguments if it is fixed. */
export const fixedArity = ({ required, most }: Signature): number | undefined => (required === most ? most : undefined);

const HEAD = /^([ \t]*)((?:async\s+)?def\s+([\p{L}_][\p{L}\p{M}\p{N}_]*))/gmu;

const MAX_HEADER = 20_000; // the most characters of a header that are read

/** The names before opening brackets, in the order of the text. The text need not parse. */
export const calledNames = (text: string): string[] =>
  [...text.matchAll(/(?<![\p{L}\p{N}_])([\p{L}_][\p{L}\p{M}\p{N}_]*)\s*\(/gu)].map(([, name]) => name!);

/** Joins lines that a backslash at their end continues. */
export const joinedLines = (text: string): string => text.replace(/\r\n?/g, '\n').replace(/\\\n[ \t]*/g, ' ');

/**
 * 'def solve(nums: list[int], k=1) -> int:' → solve, 1 to 2 arguments. Undefined if the text is not a signature.
 * @param name the function; default: the first one that is not special like __init__
 */
export function parseSignature(given: string, name?: string): Signature | undefined {
  const text = joinedLines(given);
  const heads = [...text.matchAll(HEAD)];
  const isMeant = ([, , , found]: RegExpExecArray): boolean =>
    name === undefined ? !/^__\w+__$/.test(found!) : found === name;
  for (const head of heads.filter(isMeant).slice(0, 20)) {
    const found = signatureAt(text, head.index + head[1]!.length);
    if (found) return found;
  }
  return undefined;
}

/** The signature whose `def` or `async def` starts at `from`. */
export function signatureAt(text: string, from: number): Signature | undefined {
  const rest = text.slice(from, from + MAX_HEADER);
  const header = rest.slice(0, takePiece(rest, 0, true).end);
  const definition = treeOf(header)?.topNode.getChild('FunctionDefinition');
  const list = definition?.getChild('ParamList');
  if (!definition || !list || list.lastChild?.name !== ')' || hasError(list)) return undefined;
  const slice = (node: SyntaxNode): string => header.slice(node.from, node.to);
  const annotation = (node: SyntaxNode | null | undefined): string => {
    const text = node ? slice(node) : '';
    return text.replace(/^(?:->|:)\s*/, '').trim();
  };
  const at = text.lastIndexOf('\n', from - 1) + 1;
  const { owner, decorators } = surroundings(text, at, from - at);
  const signature: Signature = {
    entry: slice(parts(definition).find(({ name }) => name === 'VariableName')!),
    ...(owner !== undefined && { owner }),
    isMethod: false,
    required: 0,
    most: 0,
    names: [],
    defaults: [],
    annotations: [],
    keywordOnly: [],
    hasKeywords: false,
    result: annotation(definition.getChild('TypeDef')),
  };
  let isStarred = false;
  let first = '';
  for (const { nodes, between } of parametersOf(list, header)) {
    const [begin, second] = nodes;
    if (!begin) {
      if (between === '/') signature.names.fill('');
    } else if (begin.name === '**') signature.hasKeywords = true;
    else if (begin.name === '*') {
      isStarred = true;
      if (second) signature.most = Infinity;
    } else if (isStarred) signature.keywordOnly.push(slice(begin));
    else {
      const equals = nodes.find(({ name }) => name === 'AssignOp');
      if (signature.names.length === 0) first = slice(begin);
      signature.names.push(slice(begin));
      signature.annotations.push(annotation(nodes.find(({ name }) => name === 'TypeDef')));
      signature.defaults.push(equals && header.slice(equals.to, nodes.at(-1)!.to).trim());
    }
  }
  const isStatic = decorators.some((line) => /^@\s*staticmethod\b/.test(line));
  const isOfClass = decorators.some((line) => /^@\s*classmethod\b/.test(line));
  const isBound = owner !== undefined || isOfClass || first === 'self';
  if (isBound && !isStatic && signature.names.length > 0) {
    signature.isMethod = true;
    for (const each of [signature.names, signature.annotations, signature.defaults]) each.shift();
  }
  signature.most = Math.max(signature.most, signature.names.length);
  signature.required = signature.defaults.filter((value) => value === undefined).length;
  return signature;
}

/** The nodes of each parameter, and the text of one that has no nodes: '/'. */
function parametersOf(list: SyntaxNode, header: string): { nodes: SyntaxNode[]; between: string }[] {
  const out: { nodes: SyntaxNode[]; between: string }[] = [];
  let nodes: SyntaxNode[] = [];
  let from = list.from + 1;
  for (let child = list.firstChild?.nextSibling; child; child = child.nextSibling) {
    if (child.name !== ',' && child.name !== ')') {
      if (child.name !== 'Comment') nodes.push(child);
      continue;
    }
    const text = header.slice(from, child.from).replace(/#[^\n]*/g, '');
    out.push({ nodes, between: text.trim() });
    nodes = [];
    from = child.to;
  }
  return out;
}

/** The class around a `def`, and its decorators. */
function surroundings(text: string, at: number, indent: number): { owner?: string; decorators: string[] } {
  const decorators: string[] = [];
  let isDecorator = true;
  for (const line of text.slice(0, at).split('\n').reverse()) {
    const column = line.search(/\S/);
    if (column < 0) continue;
    const content = line.slice(column);
    isDecorator &&= column === indent && content.startsWith('@');
    if (isDecorator) decorators.push(content);
    if (column >= indent || content.startsWith(')') || content.startsWith('#')) continue;
    const owner = /^class\s+([\p{L}_][\p{L}\p{M}\p{N}_]*)/u.exec(content)?.[1];
    return { ...(owner !== undefined && { owner }), decorators };
  }
  return { decorators };
}

// Finds the functions and classes that a program defines at its top level. Skips statements that do not parse.
import type { SyntaxNode } from '@lezer/common';
import { escapeRegExp } from './text.js';
import { parts, statementsOf, treeOf } from './tree.js';

export interface Definition {
  name: string;
  kind: 'function' | 'class';
  /** 'def f(a, b=1) -> int:', or 'class A:', with its line breaks. */
  header: string;
  decorators: string[];
  methods: Definition[]; // empty for a function
}

/** The definitions in the order of the text; a name that is defined twice occurs twice. */
export function definitionsOf(code: string): Definition[] {
  const tree = treeOf(code);
  return tree ? within(tree.topNode, code) : [];
}

/** The import statements of the module, as text. */
export function importsOf(code: string): string[] {
  const tree = treeOf(code);
  return (tree ? parts(tree.topNode) : [])
    .filter((node) => node.name === 'ImportStatement')
    .map((node) => code.slice(node.from, node.to));
}

/**
 * The part of a program that is judged: the imports, and the first definition of each name that `entry` needs. A model appends tests
 * and examples, and a wrong one would fail a right program. Unchanged if the program does not define `entry`.
 * @param strict as EvalPlus does; otherwise also all above `entry`, but nothing below it that uses its answers or the standard input
 */
export function neededBy(entry: string, code: string, strict = true): string {
  const tree = treeOf(code);
  const statements = tree ? statementsOf(tree.topNode) : [];
  const bound = statements.map((node) => namesBoundBy(node, code));
  const defining = new Map<string, number>();
  for (const [i, names] of bound.entries()) for (const name of names) if (!defining.has(name)) defining.set(name, i);
  const first = defining.get(entry);
  if (first === undefined) return code;
  const needed = new Set([entry]); // grows while it is read
  for (const name of needed)
    statements[defining.get(name) ?? -1]?.cursor().iterate((inner) => {
      if (inner.name === 'VariableName') needed.add(code.slice(inner.from, inner.to));
    });
  const texts = statements.map(({ from, to }) => code.slice(from, to).trimEnd());
  const shows = new RegExp(`=.*\\b(?:${escapeRegExp(entry)}|input|stdin)\\b`);
  const kept = texts.filter((text, i) => {
    if (statements[i]!.name === 'ImportStatement' || (!strict && i < first)) return true;
    const isShown = !strict && statements[i]!.name === 'AssignStatement' && shows.test(text);
    return !isShown && bound[i]!.some((name) => needed.has(name) && defining.get(name) === i);
  });
  return strict || kept.length < texts.length ? kept.join('\n\n') : code;
}

/** The names that a definition or an assignment binds: those before its last `=`. */
function namesBoundBy(node: SyntaxNode, code: string): string[] {
  const inner = parts(node.name === 'DecoratedStatement' ? node.lastChild! : node);
  const isAssignment = node.name === 'AssignStatement';
  const end = isAssignment ? inner.findLastIndex(({ name }) => name === 'AssignOp') : inner.length;
  const names = inner.slice(0, end).filter(({ name }) => name === 'VariableName');
  if (!isAssignment && !/^(?:Function|Class)Definition$|^DecoratedStatement$/.test(node.name)) return [];
  return (isAssignment ? names : names.slice(0, 1)).map(({ from, to }) => code.slice(from, to));
}

function within(node: SyntaxNode, code: string): Definition[] {
  return parts(node).flatMap((child): Definition[] => {
    const found = child.name === 'DecoratedStatement' ? child.lastChild! : child;
    if (found.name !== 'FunctionDefinition' && found.name !== 'ClassDefinition') return [];
    const name = parts(found).find(({ name }) => name === 'VariableName');
    const body = found.getChild('Body');
    if (!name || !body) return [];
    const kind = found.name === 'ClassDefinition' ? 'class' : 'function';
    const decorators = parts(child).filter((part) => part.name === 'Decorator');
    return [
      {
        name: code.slice(name.from, name.to),
        kind,
        decorators: decorators.map(({ from, to }) => code.slice(from, to).trim()),
        header: `${code.slice(found.from, body.from).trimEnd()}:`,
        methods: kind === 'class' ? within(body, code).filter((inner) => inner.kind === 'function') : [],
      },
    ];
  });
}

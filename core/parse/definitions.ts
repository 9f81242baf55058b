// Finds the functions and classes that a program defines at its top level. Skips statements that do not parse.
import type { SyntaxNode } from '@lezer/common';
import { parts, treeOf } from './tree.js';

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
 * What EvalPlus keeps of a program before it judges it: the imports, and the first definition of each name that `entry` needs. Tests
 * that a model appends are left out: a wrong one would fail a right program. Unchanged if the program does not define `entry`.
 */
export function neededBy(entry: string, code: string): string {
  const tree = treeOf(code);
  const statements = tree ? parts(tree.topNode) : [];
  const defining = new Map<string, SyntaxNode>();
  for (const node of statements)
    for (const name of namesBoundBy(node, code)) if (!defining.has(name)) defining.set(name, node);
  if (!defining.has(entry)) return code;
  const kept = new Set(statements.filter(({ name }) => name === 'ImportStatement'));
  const needed = new Set([entry]); // grows while it is read
  for (const name of needed) {
    const node = defining.get(name);
    if (node) kept.add(node);
    node?.cursor().iterate((inner) => {
      if (inner.name === 'VariableName') needed.add(code.slice(inner.from, inner.to));
    });
  }
  const texts = statements.filter((node) => kept.has(node)).map(({ from, to }) => code.slice(from, to).trimEnd());
  return texts.join('\n\n');
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

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

// What test source calls, as far as its text tells. Parsed, never run.
import type { SyntaxNode } from '@lezer/common';
import { attempt } from './asserts.js';
import { elements, parsePython } from './tree.js';

/** The number of arguments is NaN if the text does not tell it. */
interface TestCall {
  called: string; // 'f', or 'Class.f' of Class().f
  count: number;
}

const BUILTINS = new Set(
  (
    'abs all any ascii bin bool bytearray bytes callable chr complex dict dir divmod enumerate eval exec filter float format frozenset ' +
    'getattr globals hasattr hash hex id input int isinstance issubclass iter len list locals map max memoryview min next object oct open ' +
    'ord pow print range repr reversed round set setattr slice sorted str sum super tuple type vars zip'
  ).split(' '),
);
const BINDS = /^(?:FunctionDefinition|ClassDefinition|ParamList|ImportStatement|AssignStatement)$/;

/**
 * The calls of what the source neither defines nor imports; undefined if it does not parse.
 * @param entry what `check` is given
 */
export function callsIn(source: string, entry = ''): TestCall[] | undefined {
  const parsed = attempt(() => parsePython(source.replace(/\r\n?/g, '\n')));
  if (!parsed) return undefined;
  const { text, top } = parsed;
  const slice = ({ from, to }: SyntaxNode): string => text.slice(from, to);
  const candidate = entry && /^def\s+check\s*\(\s*(\w+)/m.exec(text)?.[1];
  const bound = new Set<string>();
  const calls: TestCall[] = [];
  top.cursor().iterate(({ name, node }) => {
    const { parent, firstChild: callee } = node;
    if (name === 'VariableName' && BINDS.test(parent!.name) && !/^from\s+\.?solution\b/.test(slice(parent!)))
      bound.add(slice(node));
    if (name !== 'CallExpression') return;
    const called = slice(callee!).replace(/^solution\./, '');
    const ofObject = /^([A-Z]\w*)\(\s*\)\.(\w+)$/.exec(called);
    const list = elements(node.lastChild!);
    const count = list.some((one) => /^(?:\*\*?|AssignOp)$/.test(one.name)) ? Number.NaN : list.length;
    if (called === candidate) calls.push({ called: entry, count });
    else if (ofObject) calls.push({ called: `${ofObject[1]}.${ofObject[2]}`, count });
    else if (/^[\p{L}_][\p{L}\p{M}\p{N}_]*$/u.test(called) && parent!.name !== 'MemberExpression')
      calls.push({ called, count });
  });
  return calls.filter(({ called }) => called === entry || !(bound.has(called.split('.')[0]!) || BUILTINS.has(called)));
}

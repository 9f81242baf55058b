// Finds the functions that test source calls, from its text alone. Nothing runs.
import { attempt } from './asserts.js';
import { parsePython } from './tree.js';

const BUILTINS =
  'abs all any bin bool bytes chr complex dict divmod enumerate filter float format frozenset getattr hasattr hash hex id input int isinstance ' +
  'iter len list map max min next object open ord pow print range repr reversed round set setattr sorted str sum super tuple type vars zip';
const BINDS = /^(?:FunctionDefinition|ClassDefinition|ParamList|ImportStatement|AssignStatement)$/;

/** Functions that source calls but does not define or import: `f`, or `Class.f` for `Class().f`. Undefined if it does not parse. */
export function callsIn(source: string): string[] | undefined {
  const parsed = attempt(() => parsePython(source.replace(/\r\n?/g, '\n')));
  const bound = new Set(BUILTINS.split(' '));
  const called = new Set<string>();
  parsed?.top.cursor().iterate(({ name, node: { from, to, parent, firstChild } }) => {
    const slice = (at: number, end: number): string => parsed.text.slice(at, end);
    const isOfSolution = (): boolean => /^from\s+\.?solution\b/.test(slice(parent!.from, parent!.to));
    if (name === 'VariableName' && BINDS.test(parent!.name) && !isOfSolution()) bound.add(slice(from, to));
    if (name !== 'CallExpression') return;
    const callee = slice(firstChild!.from, firstChild!.to).replace(/^solution\.|(?<=^[A-Z]\w*)\(\s*\)(?=\.\w+$)/g, '');
    if (/^(?!\d)[\p{L}\p{M}\p{N}_]+$|^[A-Z]\w*\.\w+$/u.test(callee) && parent!.name !== 'MemberExpression')
      called.add(callee);
  });
  return parsed && [...called].filter((name) => !bound.has(name.split('.')[0]!) && !/(?:Error|Exception)$/.test(name));
}

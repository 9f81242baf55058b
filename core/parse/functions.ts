// Reads the test functions in a discriminator's answer. Nothing runs here.
import type { SyntaxNode } from '@lezer/common';
import { attempt } from './asserts.js';
import { blockEnd } from './salvage.js';
import { parsePython, parts, type Source } from './tree.js';

export interface SalvagedFunctions {
  functions: string[]; // each the source of one `def test():`, in the order of the answer
  malformed: number; // that cannot be used
}

export const FUNCTION_NAME = 'test';
export const MOST_CHARACTERS = 2000; // of a function
export const MOST_STATEMENTS = 20; // of a function, with those inside others
/** What a function may import. None of them knows time, chance or the system, so a test ends alike whenever it runs. */
export const MODULES = ['math', 'itertools', 'collections', 'functools', 'heapq', 'bisect'];
/** What it may use of pytest. */
export const PYTEST_NAMES = ['raises', 'approx'];

const MAX_TEXT = 100_000;
const MAX_UNREAD = 64; // reading stops after so many functions that cannot be used
const START = /^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*[ \t]*\(/gm;
const IMPORT = new RegExp(
  `^(?:import ${listOf([...MODULES, 'pytest'])}|from (?:${MODULES.join('|')}) import ${listOf(['\\w+'])}|` +
    `from pytest import ${listOf(PYTEST_NAMES)})$`,
);
function listOf(names: readonly string[]): string {
  const one = `(?:${names.join('|')})`;
  return `${one}(?:, ?${one})*`;
}
/** Builtins that reach beyond a test, or whose values differ from run to run. */
const REFUSED = new Set(
  'breakpoint compile delattr dir eval exec exit getattr globals hash help id input locals memoryview open quit setattr vars'.split(
    ' ',
  ),
);
const INTERNAL = /^(?:_|(?:ag|co|cr|f|gi|tb)_)/; // attributes of objects, frames and code

/** Reads every `def test…():` in a text up to `limit`; what surrounds one is ignored. Never throws. */
export function salvageFunctions(answer: string, limit: number): SalvagedFunctions {
  const text = answer.slice(0, MAX_TEXT).replace(/\r\n?/g, '\n');
  const found: SalvagedFunctions = { functions: [], malformed: 0 };
  const starts = new RegExp(START);
  for (let start = starts.exec(text); start !== null; start = starts.exec(text)) {
    if (found.functions.length === limit || found.malformed === MAX_UNREAD) break;
    const column = start[0].search(/\S/);
    const { end } = blockEnd(text, start.index + column);
    const isDecorated = /^\s*@/.test(text.slice(text.lastIndexOf('\n', start.index - 2) + 1, start.index));
    const code = isDecorated ? undefined : normalForm(dedented(text.slice(start.index, end), column));
    if (code === undefined) found.malformed++;
    else found.functions.push(code);
    starts.lastIndex = Math.max(end, starts.lastIndex);
  }
  return found;
}

const dedented = (block: string, column: number): string =>
  column === 0 ? block : block.replace(new RegExp(`^[ \\t]{1,${column}}`, 'gm'), '');

/** The function named `test`, without comments and blank lines, so that equal tests are equal texts. Undefined: it cannot be used. */
function normalForm(block: string): string | undefined {
  if (block.length > MOST_CHARACTERS) return undefined;
  const parsed = attempt(() => parsePython(block));
  const [definition, ...others] = parsed ? parts(parsed.top) : [];
  if (!parsed || definition?.name !== 'FunctionDefinition' || others.length > 0) return undefined;
  const [name, parameters] = parts(definition).filter(({ name }) => name === 'VariableName' || name === 'ParamList');
  if (name === undefined || parameters === undefined || parts(parameters).length > 0) return undefined;
  if (/^async/.test(parsed.text.slice(definition.from))) return undefined;
  const cuts: Cut[] = [{ ...rangeOf(name), text: FUNCTION_NAME }];
  if (!isAllowed(parsed, cuts)) return undefined;
  return withoutBlankLines(replaced(parsed.text, cuts));
}

interface Cut {
  from: number;
  to: number;
  text: string;
}
const rangeOf = ({ from, to }: SyntaxNode) => ({ from, to });

/** Whether a function keeps to the limits. @param cuts gets its comments */
function isAllowed({ top, text }: Source, cuts: Cut[]): boolean {
  let statements = 0;
  let allowed = true;
  top.cursor().iterate((node) => {
    const source = text.slice(node.from, node.to).normalize('NFKC'); // as Python reads names
    if (node.name === 'Comment') cuts.push({ from: node.from, to: node.to, text: '' });
    if (/(?:Statement|Definition)$/.test(node.name) && ++statements > MOST_STATEMENTS + 1) allowed = false;
    if (node.name === 'ImportStatement' && !IMPORT.test(source.replace(/\s+/g, ' '))) allowed = false;
    if (node.name === 'VariableName' && (REFUSED.has(source) || source.startsWith('__'))) allowed = false;
    if (node.name === 'VariableName' && source === 'pytest' && !isUseOfPytest(node.node, text)) allowed = false;
    if (node.name === 'PropertyName' && INTERNAL.test(source)) allowed = false;
    return allowed;
  });
  return allowed;
}

/** `import pytest`, `from pytest …`, or `pytest.raises` and the like. */
function isUseOfPytest({ parent }: SyntaxNode, text: string): boolean {
  if (parent?.name === 'ImportStatement') return true;
  const name = parent?.name === 'MemberExpression' ? parent.getChild('PropertyName') : null;
  return name !== null && PYTEST_NAMES.includes(text.slice(name.from, name.to));
}

const replaced = (text: string, cuts: readonly Cut[]): string =>
  cuts
    .toSorted((a, b) => b.from - a.from)
    .reduce((rest, { from, to, text: by }) => rest.slice(0, from) + by + rest.slice(to), text);

function withoutBlankLines(code: string): string {
  if (/'''|"""/.test(code)) return code.trimEnd(); // they may be part of a text
  const lines = code.split('\n').map((line) => line.trimEnd());
  return lines.filter((line) => line !== '').join('\n');
}

// Seeded single-token mutants of Python programs. A mutant differs from its program in exactly one token, so comments,
// layout and docstrings stay.
import { deriveKey, uniformAt } from '../../core/base/random.js';

export interface Token {
  kind: 'name' | 'number' | 'string' | 'operator';
  from: number;
  text: string;
}

const TOKEN =
  /(?<skip>#[^\n]*|\s+|\\\n)|(?<string>[A-Za-z]{0,2}(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'))|(?<name>[^\W\d]\w*)|(?<number>(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:[eE][+-]?\d+)?)[jJ]?)|(?<operator>\*\*=?|\/\/=?|<<=?|>>=?|[!=<>+\-*/%&|^@:]=|->|[-+*/%@&|^~<>=()[\]{},:.;`!])/y;

/** The tokens of a program in their order. @throws Error at an invalid token */
export function tokenise(code: string): Token[] {
  const out: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < code.length) {
    const from = TOKEN.lastIndex;
    const groups = TOKEN.exec(code)?.groups;
    if (!groups) throw new Error(`no token at ${JSON.stringify(code.slice(from, from + 20))}`);
    for (const kind of ['string', 'name', 'number', 'operator'] as const)
      if (groups[kind] !== undefined) out.push({ kind, from, text: groups[kind] });
  }
  return out;
}

const OTHERS: Readonly<Record<string, string[]>> = {
  '+': ['-', '*'],
  '-': ['+'],
  '*': ['+', '//'],
  '/': ['//', '*'],
  '//': ['/', '%'],
  '%': ['//', '+'],
  '**': ['*'],
  '+=': ['-=', '='],
  '-=': ['+='],
  '*=': ['+='],
  '<<': ['>>'],
  '&': ['|'],
  '|': ['&'],
  '^': ['|'],
  '==': ['!=', '<='],
  '!=': ['=='],
  '<': ['<=', '>'],
  '<=': ['<', '>='],
  '>': ['>=', '<'],
  '>=': ['>', '<='],
  and: ['or'],
  or: ['and'],
  is: ['=='],
  True: ['False'],
  False: ['True'],
  None: ['0', 'False'],
  break: ['continue'],
  continue: ['break', 'pass'],
  return: ['yield', 'raise'],
  if: ['while'],
  min: ['max'],
  max: ['min'],
  sum: ['len', 'max'],
  len: ['sum', 'min'],
  sorted: ['list', 'reversed'],
  list: ['tuple', 'iter'],
  tuple: ['list'],
  set: ['list'],
  int: ['float', 'round'],
  float: ['int'],
  range: ['list', 'reversed'],
  all: ['any'],
  any: ['all'],
  append: ['extend', 'remove'],
  lower: ['upper'],
  upper: ['lower'],
};
const KEYWORDS = new Set(
  'and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield'.split(
    ' ',
  ),
);

export interface Mutation {
  from: number;
  original: string;
  replacement: string;
}

/** Every mutation of a program's tokens, in the order of the text. */
export function mutationsOf(code: string): Mutation[] {
  const tokens = tokenise(code);
  const names = [
    ...new Set(tokens.flatMap(({ kind, text }) => (kind === 'name' && !KEYWORDS.has(text) ? [text] : []))),
  ];
  return tokens.flatMap(({ kind, from, text }) =>
    replacements(kind, text, names).map((replacement) => ({ from, original: text, replacement })),
  );
}

function replacements(kind: Token['kind'], text: string, names: string[]): string[] {
  if (Object.hasOwn(OTHERS, text)) return OTHERS[text]!;
  if (kind === 'number') return /^\d+$/.test(text) ? [`${BigInt(text) + 1n}`, text === '0' ? '2' : '0'] : ['0'];
  if (kind === 'string') return /^(['"]).+\1$/s.test(text) && !/^("""|''')/.test(text) ? ["''", "'z'"] : [];
  if (kind === 'name' && !KEYWORDS.has(text)) return names.filter((name) => name !== text).slice(0, 3);
  return [];
}

export const applyMutation = (code: string, { from, original, replacement }: Mutation): string =>
  code.slice(0, from) + replacement + code.slice(from + original.length);

/** `count` different mutants, spread evenly over the programs. The same seed gives the same mutants. */
export function sampleMutants(
  programs: string[],
  count: number,
  seed: number,
): { program: number; mutation: Mutation }[] {
  const order = programs.flatMap((code, program) =>
    shuffled(mutationsOf(code), seed, program).map((mutation, turn) => ({ program, mutation, turn })),
  );
  const key = deriveKey(seed, 'mutants');
  return order
    .map((one, i) => ({ ...one, at: one.turn + uniformAt(key, i) })) // uses each program once before the second round
    .sort((a, b) => a.at - b.at)
    .slice(0, count)
    .map(({ program, mutation }) => ({ program, mutation }));
}

function shuffled<T>(items: T[], seed: number, program: number): T[] {
  const key = deriveKey(seed, 'mutations', program);
  return items
    .map((item, i) => ({ item, at: uniformAt(key, i) }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

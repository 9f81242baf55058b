// Reads a program that a model wrote. This is the inverse of `renderCode`.
import { type Atom, BASES, type Base, type KeyholeSpec, type Quantity, type Rule, stratumOf } from './family.js';
import { renderCode } from './render.js';

const PATTERNS: Record<Quantity, RegExp> = {
  a: /^a == (-?\d+)$/,
  b: /^b == (-?\d+)$/,
  has: /^(-?\d+) in nums$/,
  sum: /^sum\(nums\) == (-?\d+)$/,
  count: /^sum\(x > (?<over>-?\d+) for x in nums\) == (?<value>-?\d+)$/,
  second: /^sorted\(nums\)\[-2:-1\] == \[(-?\d+)\]$/,
  low: /^sorted\(nums\)\[1:2\] == \[(-?\d+)\]$/,
  span: /^nums and max\(nums\) - min\(nums\) == (-?\d+)$/,
  plus: /^a \+ b == (-?\d+)$/,
  diff: /^a - b == (-?\d+)$/,
};

const RULE = /^ {4}if (.+):\n {8}return (-?\d+)$/gm;
const AND = / and (?!max)/; // an `and` before `max` belongs to the condition 'span'

/** Undefined if `renderCode` never writes this text. */
export function parseCode(code: string): KeyholeSpec | undefined {
  const rules = [...code.matchAll(RULE)].map(([, condition, result]): Rule | undefined => {
    const atoms = condition!.split(AND).map(parseAtom);
    if (!atoms.every((atom) => atom !== undefined)) return undefined;
    return { stratum: stratumOf(atoms), atoms, result: Number(result) };
  });
  if (!rules.every((rule) => rule !== undefined)) return undefined;
  // text that no pattern matches makes the program differ from every base
  const bases = BASES.filter((base: Base) => renderCode({ base, rules }) === code);
  return bases[0] && { base: bases[0], rules };
}

function parseAtom(text: string): Atom | undefined {
  for (const [quantity, pattern] of Object.entries(PATTERNS) as [Quantity, RegExp][]) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const over = found.groups?.over;
    return {
      quantity,
      value: Number(found.groups?.value ?? found[1]),
      ...(over !== undefined && { over: Number(over) }),
    };
  }
  return undefined;
}

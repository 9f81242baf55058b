// Renders a problem as text: description, signature and reference program. Also renders a reading with flaws as a program.
import {
  argumentNames,
  type FilterKind,
  isGuarded,
  type MapKind,
  type Reading,
  type Reduce,
  type Spec,
} from './family.js';

export const MAP_WORDS: Record<MapKind, string> = {
  id: '',
  dbl: 'doubled',
  sq: 'squared',
  abs: 'made absolute',
  inc: 'increased by 1',
  neg: 'negated',
  up: 'in upper case',
  low: 'in lower case',
  rep: 'repeated twice',
};
const FILTER_WORDS: Record<FilterKind, string> = {
  all: '',
  even: 'even',
  odd: 'odd',
  pos: 'positive',
  neg: 'negative',
  gt: 'greater than',
  ge: 'at least',
  lt: 'less than',
  le: 'at most',
  ne: 'different from',
  div: 'divisible by',
  vow: 'vowels',
  con: 'not vowels',
  dig: 'digits',
  upr: 'uppercase',
  eq: 'equal to',
  neq: 'different from',
};
export const REDUCE_WORDS: Record<Reduce, string> = {
  sum: 'sum',
  count: 'count',
  max: 'largest',
  min: 'smallest',
  list: 'list',
  first: 'first',
  last: 'last',
  join: 'string',
  rev: 'reversed string',
};

const literal = (spec: Spec): string => (spec.source === 'str' ? `"${spec.threshold}"` : `${spec.threshold}`);
const fallback = (spec: Spec): string => (spec.source === 'str' ? '""' : '0');
const isText = (spec: Spec): boolean => spec.source === 'str';
const variable = (spec: Spec): string => (isText(spec) ? 'c' : 'x');

/** The Python expression of the map, which a program applies to an element. */
export function expression(spec: Spec, x = variable(spec)): string {
  const expressions: Record<MapKind, string> = {
    id: x,
    dbl: `${x} * 2`,
    sq: `${x} * ${x}`,
    abs: `abs(${x})`,
    inc: `${x} + 1`,
    neg: `-${x}`,
    up: `${x}.upper()`,
    low: `${x}.lower()`,
    rep: `${x} * 2`,
  };
  return expressions[spec.map];
}

/** The filter in words, such as 'at least 3'; '' selects all elements. */
export function filterPhrase(spec: Spec): string {
  const words = FILTER_WORDS[spec.filter];
  return spec.threshold === null ? words : `${words} ${literal(spec)}`;
}

/** The Python condition of the filter; '' selects all elements. */
export function condition(spec: Spec, x = variable(spec)): string {
  const value = literal(spec);
  const conditions: Record<FilterKind, string> = {
    all: '',
    even: `${x} % 2 == 0`,
    odd: `${x} % 2 == 1`,
    pos: `${x} > 0`,
    neg: `${x} < 0`,
    gt: `${x} > ${value}`,
    ge: `${x} >= ${value}`,
    lt: `${x} < ${value}`,
    le: `${x} <= ${value}`,
    ne: `${x} != ${value}`,
    div: `${x} % ${value} == 0`,
    vow: `${x} in "aeiou"`,
    con: `${x} not in "aeiou"`,
    dig: `${x}.isdigit()`,
    upr: `${x}.isupper()`,
    eq: `${x} == ${value}`,
    neq: `${x} != ${value}`,
  };
  return conditions[spec.filter];
}

export const renderSignature = (spec: Spec): string => `def solve(${argumentNames(spec).join(', ')}):`;

/** The description in one sentence. For a guarded reduction, it includes the value for an empty selection. */
export function renderDescription(spec: Spec): string {
  const unit = isText(spec) ? 'characters' : 'numbers';
  const where = { list: 'in nums', range: 'from 1 to n', str: 'in s' }[spec.source];
  return `Return ${describe(spec, `${unit} ${where}`)}.`;
}

/** The phrase after 'Return': 'the largest of the numbers in nums that are even, doubled, or 0 if there are none'. */
export function describe(spec: Spec, items: string): string {
  const filter = spec.filter === 'all' ? '' : ` that are ${filterPhrase(spec)}`;
  const map = spec.map === 'id' ? '' : `, ${MAP_WORDS[spec.map]}`;
  const guard = isGuarded(spec) ? `, or ${fallback(spec)} if there are none` : '';
  return `the ${REDUCE_WORDS[spec.reduce]} of the ${items}${filter}${map}${guard}`;
}

function iterable(reading: Reading): string {
  if (reading.source === 'range') return reading.belowN ? 'range(1, n)' : 'range(1, n + 1)';
  return argumentNames(reading)[0]! + (reading.skipsFirst ? '[1:]' : '');
}

/** The Python program of a reading. */
export function renderCode(reading: Reading): string {
  const adds = reading.reduce === 'sum' || reading.reduce === 'count';
  const test = condition(reading);
  const lines = [
    renderSignature(reading),
    adds ? '    total = 0' : '    kept = []',
    `    for ${variable(reading)} in ${iterable(reading)}:`,
  ];
  if (test) lines.push(`        if ${test}:`);
  const indent = ' '.repeat(test ? 12 : 8);
  const value = expression(reading);
  if (adds) {
    lines.push(`${indent}total += ${reading.reduce === 'count' ? '1' : value}`, '    return total');
    return lines.join('\n');
  }
  lines.push(`${indent}kept.append(${value})`);
  if (isGuarded(reading) && !reading.noGuard) lines.push('    if not kept:', `        return ${fallback(reading)}`);
  const results: Partial<Record<Reduce, string>> = {
    max: 'max(kept)',
    min: 'min(kept)',
    list: 'kept',
    first: 'kept[0]',
    last: 'kept[-1]',
    join: '"".join(kept)',
    rev: '"".join(kept[::-1])',
  };
  lines.push(`    return ${results[reading.reduce]}`);
  return lines.join('\n');
}

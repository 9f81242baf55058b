// Renders a reading as text: description, signature, reference program and the five stages of a chain.
import type { RandomStream } from '../../../core/base/random.js';
import type { Stage } from '../../../core/schema/chain.js';
import { isGuarded, type Reading } from '../tiny/family.js';
import { condition, describe, expression, filterPhrase, MAP_WORDS, REDUCE_WORDS } from '../tiny/render.js';
import { type NestedReading, type NestedSpec, takesK } from './family.js';

/** Names in the program: the argument, one of its elements, and an element of that element. */
const NAMES = { rows: ['rows', 'nums', 'x'], words: ['words', 'word', 'c'] } as const;
const UNITS = { rows: ['list', 'numbers'], words: ['word', 'characters'] } as const;
const VALUE = 'v'; // the name for the value of one list or word

export const renderSignature = (spec: NestedSpec): string =>
  `def solve(${[NAMES[spec.source][0], ...(takesK(spec) ? ['k'] : [])].join(', ')}):`;

export function renderDescription({ source, inner, outer }: NestedSpec): string {
  const [unit, items] = UNITS[source];
  return `For each ${unit} in ${source}, take ${describe(inner, items)}. Return ${describe(outer, 'values')}.`;
}

const RESULTS: Partial<Record<Reading['reduce'], string>> = {
  sum: 'sum(kept)',
  count: 'len(kept)',
  max: 'max(kept)',
  min: 'min(kept)',
  first: 'kept[0]',
  last: 'kept[-1]',
  list: 'kept',
};

/** The expression for the reduction of `kept`. */
const result = (reading: Reading): string =>
  RESULTS[reading.reduce]! + (isGuarded(reading) && !reading.noGuard ? ' if kept else 0' : '');

/** 'kept = [x * 2 for x in nums if x > k]' */
function selection(reading: Reading, item: string, items: string): string {
  const test = condition(reading, item);
  return `kept = [${expression(reading, item)} for ${item} in ${items}${test && ` if ${test}`}]`;
}

const skipping = (reading: Reading, items: string): string => items + (reading.skipsFirst ? '[1:]' : '');

/** The Python program of a reading. */
export function renderCode(reading: NestedReading): string {
  const { source, inner, outer } = reading;
  const [all, one, item] = NAMES[source];
  return [
    renderSignature(reading),
    '    values = []',
    `    for ${one} in ${skipping(outer, all)}:`,
    `        ${selection(inner, item, skipping(inner, one))}`,
    `        values.append(${result(inner)})`,
    `    ${selection(outer, VALUE, 'values')}`,
    `    return ${result(outer)}`,
  ].join('\n');
}

const afterFirst = (reading: Reading): string => (reading.skipsFirst ? ' after the first' : '');

function informal({ source, inner, outer }: NestedReading, random: RandomStream): string {
  const opening = random.choice(['I go over', 'I look at']);
  const keep = (reading: Reading, items: string): string =>
    reading.filter === 'all' ? `all ${items}` : `the ${items} that are ${filterPhrase(reading)}`;
  const [unit, items] = UNITS[source];
  const map = inner.map === 'id' ? '' : `, take them ${MAP_WORDS[inner.map]}`;
  return [
    `${opening} each ${unit}${afterFirst(outer)}, keep ${keep(inner, items)}${afterFirst(inner)}${map}`,
    ` and get the ${REDUCE_WORDS[inner.reduce]}. Then I keep ${keep(outer, 'values')}`,
    ` and return the ${REDUCE_WORDS[outer.reduce]}.`,
  ].join('');
}

const guardLine = (reading: Reading): string[] =>
  isGuarded(reading) ? [`none: ${reading.noGuard ? 'unchecked' : '0'}`] : [];

function structured({ source, inner, outer }: NestedReading): string {
  const [all, one, item] = NAMES[source];
  return [
    `loop: ${one} in ${all}${afterFirst(outer)}`,
    `keep: ${condition(inner, item) || 'all'}${afterFirst(inner)}`,
    `use: ${expression(inner, item)}`,
    `value: ${REDUCE_WORDS[inner.reduce]}`,
    ...guardLine(inner),
    `then keep: ${condition(outer, VALUE) || 'all'}`,
    `return: ${REDUCE_WORDS[outer.reduce]}`,
    ...guardLine(outer),
  ].join('\n');
}

function pseudocode({ source, inner, outer }: NestedReading): string {
  const [all, one, item] = NAMES[source];
  const clause = (reading: Reading, name: string, items: string): string => {
    const test = condition(reading, name);
    const otherwise = isGuarded(reading) && !reading.noGuard ? ' else 0' : '';
    return `for ${name} in ${items}${test && ` if ${test}`} take ${expression(reading, name)} then ${REDUCE_WORDS[reading.reduce]}${otherwise}`;
  };
  return `for ${one} in ${skipping(outer, all)}: ${clause(inner, item, skipping(inner, one))}\n${clause(outer, VALUE, 'values')}`;
}

function constraints({ source, inner, outer }: NestedReading): string {
  const item = NAMES[source][2];
  const parts = [inner, outer].flatMap((reading, i) => {
    const test = condition(reading, i === 0 ? item : VALUE);
    const empty =
      isGuarded(reading) && reading.noGuard ? 'never empty' : reading.reduce === 'list' ? '' : 'empty gives 0';
    return [test && `always ${test}`, empty].filter(Boolean);
  });
  return [...parts, `result is ${outer.reduce === 'list' ? 'list' : 'int'}`].join(', ');
}

const STAGE_ANSWERS: Record<Stage, (reading: NestedReading, random: RandomStream) => string> = {
  1: informal,
  2: structured,
  3: pseudocode,
  4: constraints,
  5: renderCode,
};

/** The answer of one stage of a chain. Only the wording of stage 1 is random. */
export const renderStage = (reading: NestedReading, stage: Stage, random: RandomStream): string =>
  STAGE_ANSWERS[stage](reading, random);

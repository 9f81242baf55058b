// What EvalPlus's own judge knows about tasks, but their records do not say: argument types that JSON lacks, and right answers
// that differ from the reference's answer.
import { floatRepr, floatValue } from '../../core/parse/numbers.js';
import type { Problem } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';

/**
 * Types of arguments → numbers of MBPP+ tasks. A word has the types of one argument, outermost first; the last word also holds for
 * later arguments. t: a tuple, T: tuples at every depth, s: a set, or {} for anything but a list, f: a float, c: a complex
 * number, l: a list.
 */
const TYPES = {
  t: '2 116 132 143 222 261 273 394 399 421 424 429 470 560 579 596 616 630 726 740 744 809',
  lt: '63 64 70 75 94 120 237 272 299 400 409 413 417 438 444 473 614 722 753 780',
  'l t': '106 750',
  't l': '250 307 405 446 617 720 763 808',
  tt: '259 278 401 445',
  T: '580 615 791',
  ls: '115',
  'f c': '124',
  c: '252',
};

/** Returns a function that gives arguments their types. Undefined if the judge uses the types of JSON. */
export function typesOf(id: string): ((args: Value[]) => Value[]) | undefined {
  const number = /^Mbpp\/(\d+)$/.exec(id)?.[1];
  const found = number && Object.entries(TYPES).find(([, tasks]) => tasks.split(' ').includes(number));
  if (!found) return undefined;
  const words = found[0].split(' ');
  return (args) => args.map((value, i) => typed(value, words[i] ?? words.at(-1)!));
}

function typed(value: Value, types: string): Value {
  const [type] = types;
  const inner = type === 'T' ? types : types.slice(1);
  if (type === 's') return Array.isArray(value) && value.length > 0 ? { s: value } : { d: [] };
  if (typeof value === 'number' || typeof value === 'string')
    return type === 'c' ? complexOf(`${value}`) : type === 'f' ? floatValue(Number(value)) : value;
  if (type === undefined || typeof value !== 'object' || value === null) return value;
  if ('d' in value) return { d: value.d.map(([key, one]) => [key, typed(one, inner)]) };
  if (!Array.isArray(value)) return value;
  const items = value.map((one) => typed(one, inner));
  return type === 'l' ? items : { t: items };
}

/** Reads a complex number from text: a plain number, or as Python writes it: `(1-2j)`. */
function complexOf(text: string): Value {
  const parts = text.replace(/[()]/g, '').split(/(?<=[^e])(?=[+-])/);
  const part = (isImaginary: boolean): string => parts.find((one) => one.endsWith('j') === isImaginary) ?? '0';
  return { c: [floatRepr(Number(part(false))), floatRepr(Number(part(true).replace('j', '')))] };
}

const UNORDERED =
  'similar_elements find_char_long common_in_nested_lists extract_singly larg_nnum intersection_array find_dissimilar Diff';
const NOT_NONE = 'check_str text_match_three text_starta_endb'; // they return a match or None

/** Other right answers, as expressions of Python: readings that the text of a task allows, or any zero of a polynomial. */
const ALSO_RIGHT: Readonly<Record<string, string>> = {
  'HumanEval find_zero': 'abs(sum(c * answer**i for i, c in enumerate(inputs[0]))) <= TOLERANCE',
  'Mbpp are_equivalent': 'True',
  'Mbpp sum_div': 'answer == 0',
  'Mbpp surface_Area': 'answer == round(inputs[0] ** 2 + 2 * inputs[0] * math.hypot(inputs[0] / 2, inputs[1]))',
  'Mbpp digit_distance_nums':
    'answer == sum(abs(int(a) - int(b)) for a, b in zip(*(str(n).zfill(max(len(str(m)) for m in inputs)) for n in inputs)))',
};

/** How the answers of a task are judged, and whether only their truth value counts. */
export function rulesOf(
  id: string,
  entry: string,
  tolerance: number,
): { truth?: true; order?: object; checker?: Problem['checker'] } {
  const [set] = id.split('/');
  const isIn = (names: string): boolean => set === 'Mbpp' && names.split(' ').includes(entry);
  const rule = ALSO_RIGHT[`${set} ${entry}`]?.replace('TOLERANCE', String(tolerance));
  return {
    ...(isIn(NOT_NONE) && { truth: true }),
    ...(isIn(UNORDERED) && { order: { order: 'set' } }),
    ...(rule !== undefined && { checker: checkerOf(rule, tolerance) }),
  };
}

const checkerOf = (rule: string, tolerance: number): string => `import math


def checker(inputs, answer, expected):
    if type(answer) not in (bool, int, float):
        return False
    return answer == expected or math.isclose(answer, expected, rel_tol=1e-7, abs_tol=${tolerance}) or ${rule}
`;

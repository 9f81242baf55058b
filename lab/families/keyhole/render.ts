// Renders a program as text: description, signature and Python code.
import type { Atom, Base, KeyholeSpec, Rule } from './family.js';

export const SIGNATURE = 'def solve(nums, a, b):';

const BASE_WORDS: Record<Base, [words: string, python: string]> = {
  total: ['the sum of nums plus a', 'sum(nums) + a'],
  length: ['the length of nums plus b', 'len(nums) + b'],
  plus: ['a plus b', 'a + b'],
  diff: ['a minus b', 'a - b'],
  less: ['the sum of nums minus b', 'sum(nums) - b'],
  largest: ['the largest of nums and b', 'max(nums + [b])'],
  smallest: ['the smallest of nums and a', 'min(nums + [a])'],
  above: ['the sum of the nums above a', 'sum(x for x in nums if x > a)'],
};

type Words = (atom: Atom) => [words: string, python: string];
const CONDITIONS: Record<Atom['quantity'], Words> = {
  a: ({ value }) => [`a is ${value}`, `a == ${value}`],
  b: ({ value }) => [`b is ${value}`, `b == ${value}`],
  has: ({ value }) => [`nums contains ${value}`, `${value} in nums`],
  sum: ({ value }) => [`the sum of nums is ${value}`, `sum(nums) == ${value}`],
  count: ({ value, over }) => [
    `the number of nums above ${over} is ${value}`,
    `sum(x > ${over} for x in nums) == ${value}`,
  ],
  second: ({ value }) => [`the second largest of nums is ${value}`, `sorted(nums)[-2:-1] == [${value}]`],
  low: ({ value }) => [`the second smallest of nums is ${value}`, `sorted(nums)[1:2] == [${value}]`],
  span: ({ value }) => [
    `the largest minus the smallest of nums is ${value}`,
    `nums and max(nums) - min(nums) == ${value}`,
  ],
  plus: ({ value }) => [`a plus b is ${value}`, `a + b == ${value}`],
  diff: ({ value }) => [`a minus b is ${value}`, `a - b == ${value}`],
};

const joined = ({ atoms }: Rule, part: 0 | 1): string =>
  atoms.map((atom) => CONDITIONS[atom.quantity](atom)[part]).join(' and ');

/** Describes the special cases. As in the code, the first one that applies counts. */
export function renderDescription({ base, rules }: KeyholeSpec): string {
  const cases = rules.map((rule, i) => `${i === 0 ? 'If' : 'Else if'} ${joined(rule, 0)}, return ${rule.result}.`);
  return [...cases, `Otherwise return ${BASE_WORDS[base][0]}.`].join(' ');
}

export function renderCode({ base, rules }: KeyholeSpec): string {
  const cases = rules.flatMap((rule) => [`    if ${joined(rule, 1)}:`, `        return ${rule.result}`]);
  return [SIGNATURE, ...cases, `    return ${BASE_WORDS[base][1]}`].join('\n');
}

/** A call in the form that the discriminator writes. */
export const renderCall = ([nums, a, b]: readonly [readonly number[], number, number]): string =>
  `solve([${nums.join(', ')}], ${a}, ${b})`;

// Operations on lists of integers.
import { type Condition, crashing, mod, type Operation, operation, runLengths, sum, times } from './operation.js';

type Of = Condition<number>;
const even = (x: number): boolean => x % 2 === 0;

const CONDITIONS: Of[] = [
  ...[3, 6].map(
    (k): Of => ({
      name: 'above',
      parameter: k,
      words: `greater than ${k} | larger than ${k} | above ${k}`,
      care: `${k} itself is not`,
      python: `x > ${k}`,
      holds: (x) => x > k,
      wrong: [(x) => x >= k, (x) => Math.abs(x) > k],
    }),
  ),
  ...[2, 5].map(
    (k): Of => ({
      name: 'at-least',
      parameter: k,
      words: `at least ${k} | ${k} or more | greater than or equal to ${k}`,
      care: `${k} itself is`,
      python: `x >= ${k}`,
      holds: (x) => x >= k,
      wrong: [(x) => x > k, (x) => Math.abs(x) >= k],
    }),
  ),
  ...[4, 7].map(
    (k): Of => ({
      name: 'below',
      parameter: k,
      words: `less than ${k} | smaller than ${k} | below ${k}`,
      care: `${k} itself is not, negative numbers are`,
      python: `x < ${k}`,
      holds: (x) => x < k,
      wrong: [(x) => x <= k, (x) => x >= 0 && x < k],
    }),
  ),
  ...[3, 5].map(
    (k): Of => ({
      name: 'at-most',
      parameter: k,
      words: `at most ${k} | ${k} or less | less than or equal to ${k}`,
      care: `${k} itself is, and so are negative numbers`,
      python: `x <= ${k}`,
      holds: (x) => x <= k,
      wrong: [(x) => x < k, (x) => x >= 0 && x <= k],
    }),
  ),
  ...[3, 4].map(
    (k): Of => ({
      name: 'multiple',
      parameter: k,
      words: `multiples of ${k} | divisible by ${k} | divisible by ${k} without a remainder`,
      care: '0 and negative multiples are too',
      python: `x % ${k} == 0`,
      holds: (x) => x % k === 0,
      wrong: [(x) => x !== 0 && x % k === 0, (x) => x >= 0 && x % k === 0],
    }),
  ),
  ...[
    [2, 6],
    [0, 4],
  ].map(
    ([a, b]): Of => ({
      name: 'between',
      parameter: `${a}-${b}`,
      points: [a!, b!],
      words: `between ${a} and ${b} | from ${a} to ${b} | in the range ${a} to ${b}`,
      care: `${a} and ${b} are included`,
      python: `${a} <= x <= ${b}`,
      holds: (x) => x >= a! && x <= b!,
      wrong: [(x) => x > a! && x <= b!, (x) => x >= a! && x < b!],
    }),
  ),
  {
    name: 'even',
    words: 'even | divisible by 2 | multiples of 2',
    care: '0 and negative even numbers are too',
    python: 'x % 2 == 0',
    holds: even,
    wrong: [(x) => x !== 0 && even(x), (x) => x >= 0 && even(x)],
  },
  {
    name: 'odd',
    words: 'odd | not divisible by 2 | not even',
    care: 'negative odd numbers are too',
    python: 'x % 2 != 0',
    holds: (x) => !even(x),
    wrong: [(x) => x > 0 && !even(x), (x) => !even(x) && x !== 1],
  },
  {
    name: 'positive',
    words: 'positive | greater than zero | above zero',
    care: '0 is not',
    python: 'x > 0',
    holds: (x) => x > 0,
    wrong: [(x) => x >= 0, (x) => x > 1],
    points: [1],
  },
  {
    name: 'negative',
    words: 'negative | less than zero | below zero',
    care: '0 is not',
    python: 'x < 0',
    holds: (x) => x < 0,
    wrong: [(x) => x <= 0, (x) => x < -1],
    points: [-1],
  },
];

/** Operations that keep, count, add up, find, locate or change the numbers that satisfy a condition. */
const conditional = ({ name, words, care, python: test, holds, wrong, parameter, points }: Of): Operation[] => {
  const w = words.split(' | ');
  const common = { parameter, ...(points && { points }) } as { parameter?: number | string };
  const each = <R>(make: (test: (x: number) => boolean) => R): R[] => wrong.map(make);
  const showsInSum = (t: (x: number) => boolean) => times(20, (i) => i - 9).some((x) => x !== 0 && t(x) !== holds(x));
  const keep = (t: (x: number) => boolean) => (v: number[]) => v.filter(t);
  const count = (t: (x: number) => boolean) => (v: number[]) => v.filter(t).length;
  const total = (t: (x: number) => boolean) => (v: number[]) => sum(v.filter(t));
  const first = (t: (x: number) => boolean) => (v: number[]) => v.find(t) ?? -1;
  const place = (t: (x: number) => boolean) => (v: number[]) => v.findLastIndex(t);
  const bump = (t: (x: number) => boolean) => (v: number[]) => v.map((x) => (t(x) ? x + 10 : x));
  return [
    operation(`keep-${name}`, 'list', 'list', {
      ...common,
      words: `keep only the numbers that are ${w[0]} | remove all numbers except those that are ${w[1]} | filter the list so that only numbers that are ${w[2]} remain`,
      care,
      python: `[x for x in $ if ${test}]`,
      run: keep(holds),
      slips: each(keep),
    }),
    operation(`count-${name}`, 'list', 'number', {
      ...common,
      words: `count the numbers that are ${w[0]} | find how many numbers are ${w[1]} | determine the number of entries that are ${w[2]}`,
      care,
      python: `sum(1 for x in $ if ${test})`,
      run: count(holds),
      slips: [...each(count), (v) => new Set(v.filter(holds)).size],
    }),
    operation(`total-${name}`, 'list', 'number', {
      ...common,
      words: `add up the numbers that are ${w[0]} | compute the sum of the numbers that are ${w[1]} | total all numbers that are ${w[2]}`,
      care: `${care}; without any the sum is 0`,
      python: `sum(x for x in $ if ${test})`,
      run: total(holds),
      slips: [...wrong.filter(showsInSum).map(total), (v) => sum(distinct(v.filter(holds)))],
    }),
    operation(`first-${name}`, 'list', 'number', {
      ...common,
      words: `find the first of the numbers that are ${w[0]} | take the leftmost of the numbers that are ${w[1]} | pick the earliest among the numbers that are ${w[2]}`,
      care: `${care}; the answer is -1 if there is none`,
      python: `next((x for x in $ if ${test}), -1)`,
      run: first(holds),
      slips: [...each(first), (v) => v.find(holds)],
    }),
    operation(`last-index-${name}`, 'list', 'number', {
      ...common,
      words: `find the index of the last of the numbers that are ${w[0]} | find the last position, counted from 0, of a number among those that are ${w[1]} | locate the rightmost of the numbers that are ${w[2]}, counting positions from 0`,
      care: `${care}; the answer is -1 if there is none`,
      python: `max((i for i, x in enumerate($) if ${test}), default=-1)`,
      run: place(holds),
      slips: [
        ...each(place),
        (v) => (v.some(holds) ? place(holds)(v) : undefined),
        (v) => (v.some(holds) ? place(holds)(v) : 0),
        (v) => v.indexOf(v.findLast(holds) ?? Number.NaN),
      ],
    }),
    operation(`bump-${name}`, 'list', 'list', {
      ...common,
      words: `add 10 to the numbers that are ${w[0]} and leave the others as they are | increase by 10 all numbers that are ${w[1]}, keeping the others unchanged | raise by 10 those numbers that are ${w[2]}; the others stay`,
      care,
      python: `[x + 10 if ${test} else x for x in $]`,
      run: bump(holds),
      slips: each(bump),
    }),
  ];
};

/** Removes the largest numbers of a list. */
const withoutMax = (v: number[]): number[] => v.filter((x) => x !== Math.max(...v));
const distinct = (v: readonly number[]): number[] => [...new Set(v)];
const ascending = (v: readonly number[]): number[] => [...v].sort((a, b) => a - b);
const most = (v: readonly number[], start: number): number => Math.max(start, ...v);
const rotate = (v: number[], k: number): number[] => [...v.slice(k), ...v.slice(0, k)];
const differences = (v: number[]): number[] => v.slice(1).map((x, i) => x - v[i]!);
const totals = (v: number[], floor = -Infinity): number[] => {
  let total = 0;
  return v.map((x) => (total = Math.max(floor, total + x)));
};
const times2 = (v: number[], x: number): number => v.filter((y) => y === x).length;
const commonest = (v: number[], candidates: number[]): number =>
  candidates.reduce((a, b) => (times2(v, b) > times2(v, a) ? b : a), candidates[0] ?? 0);

const SIMPLE: Operation[] = [
  operation('sum', 'list', 'number', {
    words: 'add up the numbers | compute the sum of the list | total all the numbers',
    care: 'the sum of an empty list is 0',
    python: 'sum($)',
    run: sum,
    slips: [crashing(sum), (v) => sum(v.filter((x) => x > 0)), (v) => sum(distinct(v))],
  }),
  operation('largest', 'list', 'number', {
    words: 'find the largest number | take the maximum | pick the greatest number',
    care: 'the answer is 0 for an empty list',
    python: 'max($, default=0)',
    run: (v) => (v.length ? Math.max(...v) : 0),
    slips: [crashing((v) => Math.max(...v)), (v) => most(v, 0)],
  }),
  operation('smallest', 'list', 'number', {
    words: 'find the smallest number | take the minimum | pick the lowest number',
    care: 'the answer is 0 for an empty list',
    python: 'min($, default=0)',
    run: (v) => (v.length ? Math.min(...v) : 0),
    slips: [crashing((v) => Math.min(...v)), (v) => Math.min(99, ...v)],
  }),
  operation('spread', 'list', 'number', {
    words:
      'subtract the smallest number from the largest | compute the largest number minus the smallest | find the difference between the maximum and the minimum',
    care: 'the answer is 0 for an empty list',
    python: 'max($) - min($) if $ else 0',
    run: (v) => (v.length ? Math.max(...v) - Math.min(...v) : 0),
    slips: [crashing((v) => Math.max(...v) - Math.min(...v)), (v) => most(v, 0) - Math.min(99, ...v)],
  }),
  operation('average', 'list', 'number', {
    words:
      'compute the average, rounded down | take the mean of the numbers, rounded down | find the average and round it down',
    care: '-1.5 becomes -2; an empty list gives 0',
    python: 'sum($) // len($) if $ else 0',
    run: (v) => (v.length ? Math.floor(sum(v) / v.length) : 0),
    slips: [crashing((v) => Math.floor(sum(v) / v.length)), (v) => (v.length ? Math.trunc(sum(v) / v.length) : 0)],
  }),
  operation('product', 'list', 'number', {
    words: 'multiply all the numbers | compute the product of the list | take the product of all numbers',
    care: 'the product of an empty list is 1',
    python: ['product = 1', 'for x in $:', '    product *= x', 'product'],
    run: (v) => v.reduce((a, b) => a * b, 1),
    slips: [(v) => (v.length ? v.reduce((a, b) => a * b, 1) : 0), (v) => v.reduce((a, b) => a * (b || 1), 1)],
  }),
  operation('distinct-count', 'list', 'number', {
    words: 'count the different numbers | find how many distinct values there are | count the values, each only once',
    care: '-2 and 2 are different',
    python: 'len(set($))',
    run: (v) => distinct(v).length,
    slips: [(v) => v.length, (v) => distinct(v.map(Math.abs)).length],
  }),
  operation('index-of-largest', 'list', 'number', {
    words:
      'find the index of the largest number | find the position of the maximum, counted from 0 | locate the greatest number, counting positions from 0',
    care: 'the first one in a tie; -1 for an empty list',
    python: '$.index(max($)) if $ else -1',
    run: (v) => v.indexOf(Math.max(...v)),
    slips: [
      crashing((v) => v.indexOf(Math.max(...v))),
      (v) => v.lastIndexOf(Math.max(...v)),
      (v) => v.indexOf(most(v, 0)),
    ],
  }),
  operation('last-minus-first', 'list', 'number', {
    words:
      'subtract the first number from the last | compute the last number minus the first | find how much larger the last number is than the first',
    care: 'it may be negative; an empty list gives 0',
    python: '$[-1] - $[0] if $ else 0',
    run: (v) => (v.length ? v.at(-1)! - v[0]! : 0),
    slips: [crashing((v) => v.at(-1)! - v[0]!), (v) => (v.length ? Math.abs(v.at(-1)! - v[0]!) : 0)],
  }),
  operation('equal-neighbours', 'list', 'number', {
    words:
      'count the numbers that equal the number right before them | find how many numbers repeat the one directly before | count the pairs of equal neighbours',
    care: 'three equal numbers in a row give 2',
    python: 'sum(1 for a, b in zip($, $[1:]) if a == b)',
    run: (v) => v.length - runLengths(v).length,
    slips: [(v) => v.length - distinct(v).length, (v) => runLengths(v).filter((n) => n > 1).length],
  }),
  operation('distinct', 'list', 'list', {
    words: 'remove repeated numbers | drop duplicates | keep each value only once',
    care: 'the first of equal numbers stays, in the original order',
    python: 'list(dict.fromkeys($))',
    run: distinct,
    slips: [
      (v) => v.filter((x, i) => x !== v[i - 1]),
      (v) => distinct([...v].reverse()).reverse(),
      (v) => ascending(distinct(v)),
    ],
  }),
  operation('descending', 'list', 'list', {
    words:
      'sort the numbers from largest to smallest | sort the list in descending order | order the numbers with the largest first',
    care: 'equal numbers all stay',
    python: 'sorted($, reverse=True)',
    run: (v) => ascending(v).reverse(),
    slips: [(v) => ascending(distinct(v)).reverse(), (v) => [...v].sort((a, b) => Math.abs(b) - Math.abs(a))],
  }),
  operation('inner', 'list', 'list', {
    words: 'remove the first and the last number | drop both ends of the list | leave out the number at each end',
    care: 'fewer than three numbers give an empty list',
    python: '$[1:-1]',
    run: (v) => v.slice(1, -1),
    slips: [
      (v) => (v.length < 3 ? v : v.slice(1, -1)),
      crashing((v) => v.slice(1, -1)),
      (v) => v.filter((x) => x !== v[0] && x !== v.at(-1)),
    ],
  }),
  ...[2, 3].map((k) =>
    operation('take', 'list', 'list', {
      parameter: k,
      words: `keep the first ${k} numbers | take ${k} numbers from the start | keep only the leading ${k} numbers`,
      care: 'keep all if there are fewer',
      python: `$[:${k}]`,
      run: (v) => v.slice(0, k),
      slips: [(v) => (v.length < k ? undefined : v.slice(0, k)), (v) => (v.length < k ? [] : v.slice(0, k))],
    }),
  ),
  operation('every-second', 'list', 'list', {
    words:
      'keep every second number, starting with the first | keep the numbers at even indices | keep the 1st, 3rd, 5th and so on',
    care: 'a single number stays',
    python: '$[::2]',
    run: (v) => v.filter((_, i) => even(i)),
    slips: [
      (v) => v.slice(0, -1).filter((_, i) => even(i)),
      (v) => v.filter(even),
      (v) => (v.length < 2 ? [] : v.filter((_, i) => even(i))),
    ],
  }),
  operation('differences', 'list', 'list', {
    words:
      'replace the list by the differences between neighbours, later minus earlier | list each number minus the number before it, starting with the second | compute how much each number changes from the one before',
    care: 'they may be negative; fewer than two numbers give an empty list',
    python: '[b - a for a, b in zip($, $[1:])]',
    run: differences,
    slips: [(v) => differences(v).map(Math.abs), (v) => (v.length < 2 ? v : differences(v)), crashing(differences)],
  }),
  operation('without-largest', 'list', 'list', {
    words: 'remove the largest number | drop the maximum | delete the greatest number',
    care: 'every copy of it; an empty list stays empty',
    python: '[x for x in $ if x != max($)]',
    run: withoutMax,
    slips: [
      crashing(withoutMax),
      (v) => v.filter((_, i) => i !== v.indexOf(Math.max(...v))),
      (v) => v.filter((x) => x !== most(v, 0)),
    ],
  }),
];

const HARD: Operation[] = [
  operation('totals', 'list', 'list', {
    tier: 2,
    words:
      'replace each number by the sum of all numbers up to and including it | compute the running totals | replace the list by its cumulative sums',
    care: 'the first number stays; totals may fall',
    python: ['total, out = 0, []', 'for x in $:', '    total += x', '    out.append(total)', 'out'],
    run: (v) => totals(v),
    slips: [(v) => totals(v, 0), crashing((v) => totals(v)), (v) => totals(v.map((x) => Math.abs(x)))],
  }),
  ...[3, 4].map((k) =>
    operation('rotate', 'list', 'list', {
      tier: 2,
      parameter: k,
      words: `rotate the list ${k} places to the left | move the first number to the end, ${k} times | shift the numbers left by ${k}, wrapping around`,
      care: 'also if the list is shorter; an empty list stays empty',
      python: [`k = ${k} % len($) if $ else 0`, '$[k:] + $[:k]'],
      run: (v) => (v.length ? rotate(v, k % v.length) : []),
      slips: [(v) => rotate(v, k), (v) => (v.length ? rotate(v, k % v.length) : undefined)],
    }),
  ),
  operation('run-lengths', 'list', 'list', {
    tier: 2,
    words:
      'replace each run of equal neighbours by its length | list how long each group of equal adjacent numbers is | compute the lengths of the runs of equal numbers',
    care: 'a number without equal neighbours is a run of 1',
    python: [
      'out = []',
      'for i, x in enumerate($):',
      '    if i > 0 and x == $[i - 1]:',
      '        out[-1] += 1',
      '    else:',
      '        out.append(1)',
      'out',
    ],
    run: runLengths,
    slips: [
      (v) => distinct(v).map((x) => times2(v, x)),
      crashing(runLengths),
      (v) => runLengths(v.map((x) => Math.abs(x))),
    ],
  }),
  operation('by-size', 'list', 'list', {
    tier: 2,
    words:
      'sort the numbers by absolute value, smallest first | order the numbers by their distance from 0 | sort by size without the sign, ascending',
    care: 'in a tie the negative number comes first',
    python: 'sorted($, key=lambda x: (abs(x), x))',
    run: (v) => ascending(v).sort((a, b) => Math.abs(a) - Math.abs(b)),
    slips: [
      (v) => [...v].sort((a, b) => Math.abs(a) - Math.abs(b)),
      ascending,
      (v) => ascending(v.map((x) => Math.abs(x))),
    ],
  }),
  operation('repeated', 'list', 'list', {
    tier: 2,
    words:
      'keep the values that occur more than once, each one time | list the values that have duplicates, once each | keep one copy of every value that is repeated',
    care: 'in the order of their first occurrence',
    python: '[x for x in dict.fromkeys($) if $.count(x) > 1]',
    run: (v) => distinct(v).filter((x) => times2(v, x) > 1),
    slips: [
      (v) => v.filter((x) => times2(v, x) > 1),
      (v) => distinct(v.filter((x, i) => v.indexOf(x) < i)),
      (v) => distinct(v).filter((x) => times2(v, x) === 2),
    ],
  }),
  ...[2, 3].map((k) =>
    operation('windows', 'list', 'list', {
      tier: 2,
      parameter: k,
      words: `list the sums of every ${k} numbers in a row | replace the list by the sums of its windows of ${k} neighbours | compute the sum of each slice of ${k} consecutive numbers`,
      care: `fewer than ${k} numbers give an empty list`,
      python: `[sum($[i:i + ${k}]) for i in range(len($) - ${k - 1})]`,
      run: (v) => times(v.length - k + 1, (i) => sum(v.slice(i, i + k))),
      slips: [
        (v) => times(v.length, (i) => sum(v.slice(i, i + k))).slice(0, Math.max(1, v.length - k + 1)),
        (v) => (v.length < k ? v : times(v.length - k + 1, (i) => sum(v.slice(i, i + k)))),
      ],
    }),
  ),
  operation('second-largest', 'list', 'number', {
    tier: 2,
    words:
      'find the second largest of the different values | take the largest value below the maximum | find the runner-up among the distinct values',
    care: '-1 if there are fewer than two different values',
    python: ['values = sorted(set($))', 'values[-2] if len(values) > 1 else -1'],
    run: (v) => ascending(distinct(v)).at(-2) ?? -1,
    slips: [(v) => ascending(v).at(-2) ?? -1, (v) => ascending(distinct(v)).at(-2), (v) => most(withoutMax(v), -1)],
  }),
  operation('commonest', 'list', 'number', {
    tier: 2,
    words: 'find the most frequent number | take the value that occurs most often | find the mode of the list',
    care: 'the smallest one in a tie; 0 for an empty list',
    python: 'max(sorted(set($)), key=$.count, default=0)',
    run: (v) => commonest(v, ascending(v)),
    slips: [
      (v) => commonest(v, v),
      crashing((v) => commonest(v, ascending(v))),
      (v) => commonest(v, ascending(v).reverse()),
    ],
  }),
  operation('longest-rise', 'list', 'number', {
    tier: 2,
    words:
      'find the length of the longest stretch in which every number is larger than the one before | find how long the longest strictly increasing run is | measure the longest run of neighbours that keep growing',
    care: 'equal numbers end it; 0 for an empty list',
    python: [
      'best = length = 0',
      'for i, x in enumerate($):',
      '    length = length + 1 if i > 0 and x > $[i - 1] else 1',
      '    best = max(best, length)',
      'best',
    ],
    run: (v) => longestRise(v, (d) => d > 0),
    slips: [
      (v) => longestRise(v, (d) => d >= 0),
      (v) =>
        Math.max(
          1,
          longestRise(v, (d) => d > 0),
        ),
      (v) => longestRise(v.slice(0, 4), (d) => d > 0),
    ],
  }),
  operation('floored', 'list', 'list', {
    tier: 3,
    words:
      'start with a balance of 0, add one number after the other, and list the balance after each; whenever it falls below 0, set it to 0 | list the running balance, which starts at 0 and is reset to 0 whenever it would become negative | compute running totals that are never negative: a total below 0 becomes 0 before the next number is added',
    care: 'one balance for every number',
    python: ['total, out = 0, []', 'for x in $:', '    total = max(0, total + x)', '    out.append(total)', 'out'],
    run: (v) => totals(v, 0),
    slips: [(v) => totals(v).map((x) => Math.max(0, x)), (v) => totals(v), crashing((v) => totals(v, 0))],
  }),
  operation('merge', 'list', 'list', {
    tier: 3,
    words:
      'go from left to right and replace two equal neighbours by their sum | merge equal neighbours into their sum, from left to right | from the left, join each pair of equal adjacent numbers into one number, their sum',
    care: 'a number made by merging is not merged again',
    python: [
      'out, i = [], 0',
      'while i < len($):',
      '    pair = i + 1 < len($) and $[i] == $[i + 1]',
      '    out.append($[i] * 2 if pair else $[i])',
      '    i += 2 if pair else 1',
      'out',
    ],
    run: (v) => merge(v, false),
    slips: [
      (v) => merge(v, true),
      (v) => merge([...v].reverse(), false).reverse(),
      (v) =>
        v
          .filter((x, i) => x !== v[i - 1])
          .map((x) => (runLengths(v).some((n) => n > 1) && times2(v, x) > 1 ? x * 2 : x)),
    ],
  }),
  operation('stack', 'list', 'list', {
    tier: 3,
    words:
      'build a new list: append each number that is not 0, and at each 0 remove the last number of the new list | treat the list as commands: 0 undoes the last number that is still kept, other numbers are appended | process the numbers with a stack: push those that are not 0, pop one at each 0',
    care: 'a 0 does nothing if nothing is left',
    python: [
      'out = []',
      'for x in $:',
      '    if x != 0:',
      '        out.append(x)',
      '    elif out:',
      '        out.pop()',
      'out',
    ],
    run: (v) => stack(v) as number[],
    slips: [
      (v) => v.filter((x, i) => x !== 0 && v[i + 1] !== 0),
      (v) => stack(v, () => undefined),
      (v) => v.filter((x) => x !== 0),
    ],
    points: [0],
  }),
  ...[2, 3].map((k) =>
    operation('circle', 'list', 'list', {
      tier: 3,
      parameter: k,
      words: `the numbers stand in a circle: starting at the first, count to ${k}, remove that number, go on counting from the next one until none is left, and list them in the order of removal | repeatedly remove every ${k}${k === 2 ? 'nd' : 'rd'} number, going around in a circle until none is left, and list the removed numbers in order | play the Josephus game with step ${k} on the list and give the order of removal`,
      care: 'an empty list stays empty',
      python: [
        'queue, out = list($), []',
        'while queue:',
        `    k = ${k - 1} % len(queue)`,
        '    out.append(queue[k])',
        '    queue = queue[k + 1:] + queue[:k]',
        'out',
      ],
      run: (v) => circle(v, k),
      slips: [
        (v) => circle(v, k).slice(0, -1),
        (v) => [...v.filter((_, i) => mod(i + 1, k) === 0), ...v.filter((_, i) => mod(i + 1, k) !== 0)],
        crashing((v) => circle(v, k)),
      ],
    }),
  ),
];

function longestRise(v: number[], rises: (difference: number) => boolean): number {
  let [best, length] = [0, 0];
  for (const [i, x] of v.entries()) {
    length = i > 0 && rises(x - v[i - 1]!) ? length + 1 : 1;
    best = Math.max(best, length);
  }
  return best;
}

function merge(v: number[], again: boolean): number[] {
  const out: number[] = [];
  let open = false; // whether the last number may be merged
  for (const x of v) {
    const joins: boolean = open && out.at(-1) === x;
    if (joins) out[out.length - 1] = x * 2;
    else out.push(x);
    open = again || !joins;
  }
  return out;
}

function stack(v: number[], onEmpty: (out: number[]) => number[] | undefined = (out) => out): number[] | undefined {
  const out: number[] = [];
  for (const x of v) {
    if (x !== 0) out.push(x);
    else if (out.length === 0 && onEmpty(out) === undefined) return undefined;
    else out.pop();
  }
  return out;
}

function circle(v: number[], k: number): number[] {
  const queue = [...v];
  return v.map(() => {
    const at = (k - 1) % queue.length;
    const [removed] = queue.splice(at, 1);
    queue.push(...queue.splice(0, at));
    return removed!;
  });
}

export const LIST_OPERATIONS: Operation[] = [...CONDITIONS.flatMap(conditional), ...SIMPLE, ...HARD];

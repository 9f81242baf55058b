// Operations on single integers.
import { mod, type Operation, operation, sum, times } from './operation.js';

const digits = (n: number): number[] => [...`${Math.abs(n)}`].map(Number);
const divisors = (n: number): number[] => times(n, (i) => i + 1).filter((d) => n % d === 0);
const reversed = (n: number): number => Number([...`${Math.abs(n)}`].reverse().join(''));

export const NUMBER_OPERATIONS: Operation[] = [
  operation('last-digit', 'number', 'number', {
    words:
      'take the last digit of the number | replace the number by its last digit | keep only the ones digit of the number',
    care: 'without a sign: -37 gives 7',
    python: 'abs($) % 10',
    run: (n) => Math.abs(n) % 10,
    slips: [(n) => mod(n, 10), (n) => n % 10],
  }),
  operation('digit-sum', 'number', 'number', {
    words:
      'add up the digits of the number | compute the sum of the digits of the number | total the decimal digits of the number',
    care: 'the sign is ignored: -37 gives 10',
    python: 'sum(int(c) for c in str(abs($)))',
    run: (n) => sum(digits(n)),
    slips: [
      (n) => (n < 0 ? undefined : sum(digits(n))),
      (n) => (n < 0 ? 0 : sum(digits(n))),
      (n) => (n < 0 ? -sum(digits(n)) : sum(digits(n))),
    ],
  }),
  operation('digit-count', 'number', 'number', {
    words:
      'count the digits of the number | find how many digits the number has | determine the number of decimal digits',
    care: '0 has one digit; a sign is not a digit',
    python: 'len(str(abs($)))',
    run: (n) => digits(n).length,
    slips: [(n) => `${n}`.length, (n) => (n === 0 ? 0 : digits(n).length)],
  }),
  operation('sign', 'number', 'number', {
    words: 'replace the number by its sign | reduce the number to its sign | compute the sign of the number',
    care: '1 if positive, -1 if negative, 0 for zero',
    python: '($ > 0) - ($ < 0)',
    run: (n) => Math.sign(n),
    slips: [(n) => (n >= 0 ? 1 : -1), (n) => (n > 0 ? 1 : -1), (n) => (n > 0 ? 1 : 0)],
  }),
  operation('halve', 'number', 'number', {
    words:
      'halve the number, rounding down | divide the number by 2 and round down | take half of the number, rounded down',
    care: '-3 gives -2',
    python: '$ // 2',
    run: (n) => Math.floor(n / 2),
    slips: [(n) => Math.trunc(n / 2), (n) => Math.floor(Math.abs(n) / 2)],
  }),
  operation('halve-even', 'number', 'number', {
    words:
      'halve the number if it is even, otherwise add 1 to it | if the number is even, divide it by 2; if it is odd, increase it by 1 | divide an even number by 2, but add 1 to an odd one',
    care: '0 and negative numbers follow the same rule',
    python: '$ // 2 if $ % 2 == 0 else $ + 1',
    run: (n) => (n % 2 === 0 ? n / 2 : n + 1),
    slips: [
      (n) => (n > 0 && n % 2 === 0 ? n / 2 : n + 1),
      (n) => (n % 2 === 0 ? n / 2 : n + Math.sign(n)),
      (n) => (n % 2 === 0 && n !== 0 ? n / 2 : n + 1),
    ],
  }),
  operation('sum-to', 'number', 'number', {
    words:
      'add up all integers from 1 to the number | compute the sum of the integers from 1 up to the number | total 1 + 2 + ... up to the number',
    care: 'the number is included; 0 if it is less than 1',
    python: 'sum(range(1, $ + 1))',
    run: (n) => (n < 1 ? 0 : (n * (n + 1)) / 2),
    slips: [
      (n) => (n * (n + 1)) / 2,
      (n) => (n < 1 ? n : (n * (n + 1)) / 2),
      (n) => (n < 1 ? undefined : (n * (n + 1)) / 2),
    ],
  }),
  ...[5, 8].map((k) =>
    operation('distance', 'number', 'number', {
      parameter: k,
      words: `compute how far the number is from ${k} | find the distance between the number and ${k} | take the absolute difference of the number and ${k}`,
      care: 'never negative',
      python: `abs($ - ${k})`,
      run: (n) => Math.abs(n - k),
      slips: [(n) => n - k, (n) => Math.max(0, n - k), (n) => Math.abs(Math.abs(n) - k)],
    }),
  ),
  ...[4, 7].map((k) =>
    operation('remainder', 'number', 'number', {
      parameter: k,
      words: `take the remainder of the number divided by ${k} | compute the number modulo ${k} | replace the number by what remains after dividing it by ${k}`,
      care: `from 0 to ${k - 1}, also for negative numbers: -1 gives ${k - 1}`,
      python: `$ % ${k}`,
      run: (n) => mod(n, k),
      slips: [(n) => n % k, (n) => Math.abs(n) % k, (n) => mod(n, k) || k],
    }),
  ),
  ...[10, 20].map((k) =>
    operation('limit', 'number', 'number', {
      parameter: k,
      words: `limit the number to the range from 0 to ${k} | clamp the number between 0 and ${k} | force the number into the range 0 to ${k}`,
      care: `0 if it is negative, ${k} if it is larger`,
      python: `max(0, min(${k}, $))`,
      run: (n) => Math.max(0, Math.min(k, n)),
      slips: [(n) => Math.min(k, n), (n) => Math.max(0, n), (n) => Math.min(k, Math.abs(n))],
    }),
  ),
  ...[3, 5].map((k) =>
    operation('round-up', 'number', 'number', {
      parameter: k,
      words: `round the number up to a multiple of ${k} | find the smallest multiple of ${k} that is at least the number | raise the number to the next multiple of ${k}`,
      care: 'a multiple stays as it is',
      python: `-(-$ // ${k}) * ${k}`,
      run: (n) => Math.ceil(n / k) * k,
      slips: [
        (n) => (Math.floor(n / k) + 1) * k,
        (n) => (n < 0 ? 0 : Math.ceil(n / k) * k),
        (n) => Math.sign(n) * Math.ceil(Math.abs(n) / k) * k,
      ],
    }),
  ),
  operation('count-up', 'number', 'list', {
    words:
      'list the integers from 1 to the number | make the list of integers from 1 up to the number | write all integers from 1 to the number as a list',
    care: 'the number is included; an empty list if it is less than 1',
    python: 'list(range(1, $ + 1))',
    run: (n) => times(n, (i) => i + 1),
    slips: [
      (n) => (n < 1 ? [n] : times(n, (i) => i + 1)),
      (n) => (n < 1 ? undefined : times(n, (i) => i + 1)),
      (n) => times(Math.abs(n), (i) => i + 1),
    ],
  }),
  operation('digits', 'number', 'list', {
    words:
      'list the digits of the number | split the number into a list of its digits | write the digits of the number as a list of integers',
    care: 'the sign is ignored; 0 gives [0]',
    python: '[int(c) for c in str(abs($))]',
    run: digits,
    slips: [
      (n) => (n < 0 ? undefined : digits(n)),
      (n) => (n === 0 ? [] : digits(n)),
      (n) => digits(n).map((d) => (n < 0 ? -d : d)),
    ],
  }),
  operation('divisors', 'number', 'list', {
    words:
      'list the positive divisors of the number in ascending order | make the ascending list of all divisors of the number | find every integer from 1 up that divides the number without a remainder',
    care: '1 and the number itself are included; an empty list if it is less than 1',
    python: '[d for d in range(1, $ + 1) if $ % d == 0]',
    run: divisors,
    slips: [
      (n) => (n < 1 ? undefined : divisors(n)),
      (n) => (n === 1 ? [1, 1] : divisors(n)),
      (n) => divisors(Math.abs(n)),
    ],
  }),
  operation('reverse-digits', 'number', 'number', {
    tier: 2,
    words:
      'reverse the digits of the number | write the digits of the number in reverse order | read the digits of the number from right to left',
    care: 'the sign stays in front and leading zeros vanish: -120 gives -21',
    python: ['digits = int(str(abs($))[::-1])', '-digits if $ < 0 else digits'],
    run: (n) => Math.sign(n) * reversed(n),
    slips: [reversed, (n) => (n < 0 ? undefined : reversed(n))],
  }),
  operation('digital-root', 'number', 'number', {
    tier: 3,
    words:
      'replace the number by the sum of its digits until it has one digit | repeat adding up the digits of the number until a single digit is left | compute the digital root of the number',
    care: 'the sign is ignored',
    python: ['root = abs($)', 'while root > 9:', '    root = sum(int(c) for c in str(root))', 'root'],
    run: (n) => (n === 0 ? 0 : 1 + ((Math.abs(n) - 1) % 9)),
    slips: [
      (n) => sum(digits(sum(digits(n)))),
      (n) => Math.abs(n) % 9,
      (n) => (n < 0 ? n : n === 0 ? 0 : 1 + ((n - 1) % 9)),
    ],
  }),
  operation('collatz', 'number', 'number', {
    tier: 3,
    words:
      'count the steps until the number becomes 1: halve it if it is even, else triple it and add 1 | count how many Collatz steps (halve if even, else triple and add 1) lead from the number to 1 | determine the length of the Collatz sequence from the number to 1, in steps',
    care: '1 needs 0 steps; -1 if it is less than 1',
    python: [
      'count = 0 if $ > 0 else -1',
      'while $ > 1:',
      '    $ = $ // 2 if $ % 2 == 0 else 3 * $ + 1',
      '    count += 1',
      'count',
    ],
    run: (n) => collatz(n, -1)!,
    slips: [(n) => collatz(n, 0), (n) => collatz(n, undefined), (n) => (n === 1 ? 3 : collatz(n, -1))],
  }),
];

function collatz(start: number, invalid: number | undefined): number | undefined {
  if (start < 1) return invalid;
  let steps = 0;
  for (let n = start; n !== 1; steps++) n = n % 2 === 0 ? n / 2 : 3 * n + 1;
  return steps;
}

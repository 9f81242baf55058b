// The executed programs, each with five tests in the form of every contender. One in three programs is wrong, to detect a
// contender that accepts everything.
import type { ProgramRow } from '../../../sandbox/programRows.js';

type Plain = number | string | Plain[]; // valid JSON and a valid Python literal

export interface Execution {
  id: string;
  code: string;
  entry: string;
  tests: [args: Plain[], expected: Plain][];
  asserts: string; // as bare asserts
  pytest: string; // as test functions
  good: boolean; // passes all tests
}

interface Program {
  entry: string;
  code: string;
  flaw: [right: string, wrong: string]; // a change that makes a test fail
  tests: Execution['tests'];
}

const PROGRAMS: Program[] = [
  {
    entry: 'two_sum',
    code: 'def two_sum(nums, target):\n    seen = {}\n    for i, num in enumerate(nums):\n        if target - num in seen:\n            return [seen[target - num], i]\n        seen[num] = i\n    return []\n',
    flaw: ['return []', 'return [0]'],
    tests: [
      [
        [[2, 7, 11, 15], 9],
        [0, 1],
      ],
      [
        [[3, 3], 6],
        [0, 1],
      ],
      [[[1, 2, 3], 10], []],
      [
        [[-1, -2, -3], -5],
        [1, 2],
      ],
      [
        [[0, 4, 3, 0], 0],
        [0, 3],
      ],
    ],
  },
  {
    entry: 'merge',
    code: 'def merge(spans):\n    merged = []\n    for low, high in sorted(spans):\n        if merged and low <= merged[-1][1]:\n            merged[-1][1] = max(merged[-1][1], high)\n        else:\n            merged.append([low, high])\n    return merged\n',
    flaw: ['low <=', 'low <'],
    tests: [
      [
        [
          [
            [1, 3],
            [2, 6],
            [8, 10],
          ],
        ],
        [
          [1, 6],
          [8, 10],
        ],
      ], // prettier-ignore
      [
        [
          [
            [1, 4],
            [4, 5],
          ],
        ],
        [[1, 5]],
      ],
      [[[]], []],
      [
        [
          [
            [5, 6],
            [1, 2],
          ],
        ],
        [
          [1, 2],
          [5, 6],
        ],
      ], // prettier-ignore
      [
        [
          [
            [1, 10],
            [2, 3],
          ],
        ],
        [[1, 10]],
      ],
    ],
  },
  {
    entry: 'primes',
    code: 'def primes(limit):\n    sieve = [True] * limit\n    found = []\n    for n in range(2, limit):\n        if sieve[n]:\n            found.append(n)\n            for multiple in range(n * n, limit, n):\n                sieve[multiple] = False\n    return found\n',
    flaw: ['range(2, limit)', 'range(3, limit)'],
    tests: [
      [[10], [2, 3, 5, 7]],
      [[2], []],
      [[0], []],
      [[20], [2, 3, 5, 7, 11, 13, 17, 19]],
      [[30], [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]],
    ],
  },
  {
    entry: 'encode',
    code: 'def encode(text):\n    out = ""\n    i = 0\n    while i < len(text):\n        j = i\n        while j < len(text) and text[j] == text[i]:\n            j += 1\n        out += text[i] + str(j - i)\n        i = j\n    return out\n',
    flaw: ['str(j - i)', '(str(j - i) if j - i > 1 else "")'],
    tests: [
      [['aaabcc'], 'a3b1c2'],
      [[''], ''],
      [['z'], 'z1'],
      [['aabbaa'], 'a2b2a2'],
      [['xyz'], 'x1y1z1'],
    ],
  },
];

export const EXECUTIONS: readonly Execution[] = PROGRAMS.flatMap((program, p) =>
  [false, p % 2 === 0].map((flawed): Execution => {
    const { entry, tests, flaw } = program;
    const code = flawed ? program.code.replace(...flaw) : program.code;
    const lines = tests.map(([args, expected]) => {
      const list = args.map((arg) => JSON.stringify(arg)).join(', ');
      return `assert ${entry}(${list}) == ${JSON.stringify(expected)}`;
    });
    const pytest = lines.map((line, i) => `def test_case_${i}():\n    ${line}\n`).join('\n');
    const head = `from solution import *\n\n`;
    const asserts = `${lines.join('\n')}\n`;
    return {
      id: `${entry}${flawed ? ' (flawed)' : ''}`,
      code,
      entry,
      tests,
      asserts,
      pytest: head + pytest,
      good: !flawed,
    };
  }),
);

/** `count` executions from number `first` on; starts again after the last one. */
export const executionsFrom = (first: number, count: number): Execution[] =>
  Array.from({ length: count }, (_, i) => EXECUTIONS[(first + i) % EXECUTIONS.length]!);

export const rowOf = ({ id, code, entry, tests }: Execution): ProgramRow => ({ id, code, entry, tests });

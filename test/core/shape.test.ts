import assert from 'node:assert/strict';
import { resembles } from '../../core/inputs/shape.js';
import type { Value } from '../../core/schema/value.js';

describe('inputs that resemble known ones', () => {
  const CASES: [name: string, known: Value[][], alike: Value[][], other: Value[][]][] = [
    ['signs of numbers', [[3], [1]], [[99]], [[0], [-1], [{ f: '2.0' }], ['3'], [null], [true]]],
    ['zero where it is known', [[0], [4]], [[7]], [[-7]]],
    ['floats', [[{ f: '1.5' }]], [[{ f: '9.25' }]], [[2], [{ f: '-1.5' }]]],
    ['characters, in classes of which several are known', [['abc 1']], [['zz 1']], [['A'], ['2'], ['é'], ['']]],
    ['brackets', [['(())'], ['']], [['))(']], [['<'], ['(a)']]],
    ['items of lists', [[[1, 2]]], [[[5, 5, 5]]], [[[]], [[-1]], [['a']], [[[1]]]]],
    ['pairs of dictionaries', [[{ d: [['a', 1]] }]], [[{ d: [['a', 2]] }]], [[{ d: [['a', -2]] }], [{ d: [] }]]],
    [
      'lengths that are always equal',
      [
        ['01', '10'],
        ['1', '0'],
      ],
      [['111', '000']],
      [['11', '1']],
    ],
    [
      'lengths that are not',
      [
        ['01', '1'],
        ['1', '0'],
      ],
      [['11', '1']],
      [],
    ],
    ['any type where three are known', [[[1, 'a', null]]], [[[true, { f: '1.0' }]]], [[[-1]]]],
    ['the number of arguments', [[1, 2]], [[2, 1]], [[1, 2, 3]]],
  ];
  for (const [name, known, alike, other] of CASES)
    it(name, () => {
      const isLike = resembles(known);
      for (const args of alike) assert.ok(isLike(args), JSON.stringify(args));
      for (const args of other) assert.ok(!isLike(args), JSON.stringify(args));
    });
});

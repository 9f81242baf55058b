import assert from 'node:assert/strict';
import fc from 'fast-check';
import { equalValues, judge, judgeProgram, OUTCOME_ORDER } from '../../core/comparison/compare.js';
import { strictKey } from '../../core/comparison/strictKey.js';
import type { Verdict } from '../../core/schema/execution.js';
import type { Value } from '../../core/schema/value.js';

const BIG = `0x1${'0'.repeat(25)}`; // 2 ** 100
/** [answer, expected, lenient, strict] */
const TABLE: [Value, Value, boolean, boolean][] = [
  [true, 1, true, false],
  [0, false, true, false],
  [1, 2, false, false],
  [{ f: '3.0' }, 3, true, false],
  [3, { f: '3.0' }, true, false],
  [{ f: '3.5' }, 3, false, false],
  [{ f: '0.30000000000000004' }, { f: '0.3' }, true, false],
  [{ f: '0.3001' }, { f: '0.3' }, false, false],
  [{ f: '1e+300' }, { f: '1.0000000001e+300' }, true, false],
  [{ f: '1e+300' }, { f: '1.1e+300' }, false, false],
  [{ f: '3.0000000001' }, 3, false, false], // an expected int has no tolerance
  [{ f: 'nan' }, { f: 'nan' }, true, true],
  [{ f: 'nan' }, { f: '1.0' }, false, false],
  [{ f: 'inf' }, { f: 'inf' }, true, true],
  [{ f: 'inf' }, { f: '-inf' }, false, false],
  [{ f: '-0.0' }, { f: '0.0' }, true, true],
  [{ i: BIG }, { i: BIG }, true, true],
  [{ i: BIG }, { i: `-${BIG}` }, false, false],
  [{ f: '1.2676506002282294e+30' }, { i: BIG }, true, false], // 2.0 ** 100 == 2 ** 100
  [{ i: '0x5' }, 5, true, true],
  [{ t: [1, 2] }, [1, 2], true, false],
  [[1, { t: [2, [3]] }], { t: [1, [2, { t: [3] }]] }, true, false],
  [[1, 2], [1, 2, 3], false, false],
  [[2, 1], [1, 2], false, false],
  ['a', 'a', true, true],
  ['1', 1, false, false],
  ['', null, false, false],
  [null, null, true, true],
  [null, false, false, false],
  [[], null, false, false],
  [{ b: 'AP8=' }, { b: 'AP8=' }, true, true],
  [{ b: 'YQ==' }, 'a', false, false],
  [{ s: [3, 1, 2] }, { s: [1, 2, 3] }, true, true],
  [{ s: [1, 2] }, { s: [1, 2, 3] }, false, false],
  [{ s: [1, 1, 2] }, { s: [1, 2, 2] }, true, true], // a set that repeats an item
  [{ s: [true, 2] }, { s: [1, 2] }, true, false],
  [{ s: [{ t: [1, 2] }] }, { s: [{ t: [1, 2] }] }, true, true],
  [{ s: [1] }, [1], false, false],
  [{ s: [] }, { d: [] }, false, false],
  [
    {
      d: [
        ['b', 1],
        ['a', 2],
      ],
    },
    {
      d: [
        ['a', 2],
        ['b', 1],
      ],
    },
    true,
    true,
  ],
  [{ d: [['a', { t: [1] }]] }, { d: [['a', [1]]] }, true, false],
  [{ d: [['a', { f: '0.30000000000000004' }]] }, { d: [['a', { f: '0.3' }]] }, true, false],
  [{ d: [[1, 'x']] }, { d: [[{ f: '1.0' }, 'x']] }, true, false],
  [{ d: [[1, 'x']] }, { d: [['1', 'x']] }, false, false],
  [
    { d: [['a', 1]] },
    {
      d: [
        ['a', 1],
        ['b', 1],
      ],
    },
    false,
    false,
  ],
  [{ c: ['1.0', '2.0'] }, { c: ['1.0', '2.0'] }, true, true],
  [{ c: ['3.0', '0.0'] }, 3, true, false],
  [{ c: ['3.0', '1.0'] }, 3, false, false],
  [{ f: '' }, { f: '0.0' }, false, false], // malformed values are equal to nothing
  [{ f: 'x' }, { f: 'x' }, false, false],
  [{ i: 'zz' }, { i: 'zz' }, false, false],
  [0.5, 0.5, false, false],
];

describe('the comparison of answers', () => {
  for (const [a, b, lenient, strict] of TABLE)
    it(`${JSON.stringify(a)} is ${lenient ? '' : 'not '}equal to ${JSON.stringify(b)}, ${strict ? 'also' : 'not'} strictly`, () => {
      assert.equal(equalValues(a, b, 'lenient'), lenient);
      assert.equal(equalValues(a, b, 'strict'), strict);
    });

  const value = fc.letrec<{ value: Value }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constant(null),
      fc.boolean(),
      fc.maxSafeInteger(),
      fc.string(),
      fc.bigInt(0n, 1n << 200n).map((n) => ({ i: `0x${n.toString(16)}` })),
      fc
        .double()
        .map((x) => ({ f: Number.isNaN(x) ? 'nan' : Number.isFinite(x) ? String(x) : x > 0 ? 'inf' : '-inf' })),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.array(tie('value'), { maxLength: 4 }).map((t) => ({ t })),
      fc.array(fc.oneof(fc.string(), fc.integer()), { maxLength: 5 }).map((s) => ({ s })),
      fc.array(fc.tuple(fc.string(), tie('value')), { maxLength: 4 }).map((d) => ({ d })),
    ),
  })).value;

  it('finds every value equal to itself and its JSON copy in both modes, and is symmetric if strict', () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        const copy = JSON.parse(JSON.stringify(a));
        return (
          equalValues(a, copy, 'strict') &&
          equalValues(a, copy, 'lenient') &&
          equalValues(a, b, 'strict') === equalValues(b, a, 'strict') &&
          (!equalValues(a, b, 'strict') || equalValues(a, b, 'lenient'))
        );
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  it('gives two values the same strict key if and only if they are strictly equal', () => {
    const small = fc.oneof(
      ...[fc.constantFrom(null, true, 1, { f: '1.0' }, { f: '-0.0' }, { f: '0.0' }, { f: 'nan' }, '1', { i: '0x1' })],
      value,
    );
    const set = fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { maxLength: 3 });
    const pair = fc.oneof(
      fc.tuple(small, small),
      fc.tuple(set, set).map(([a, b]) => [{ s: a }, { s: b }] as const),
      fc.tuple(set, small, small).map(([keys, x, y]) => {
        const pairs = keys.map((key): [Value, Value] => [key, key === 0 ? x : y]);
        return [{ d: pairs }, { d: [...pairs].reverse() }] as const;
      }),
      value.map((a) => [a, JSON.parse(JSON.stringify(a)) as Value] as const),
    );
    fc.assert(
      fc.property(pair, ([a, b]) => (strictKey(a) === strictKey(b)) === equalValues(a, b, 'strict')),
      { numRuns: 1000, seed: 7 },
    );
  });

  it('gives a call without a value the verdict of its failure', () => {
    for (const kind of ['error', 'timeout', 'memory', 'output'] as const)
      assert.equal(judge({ kind, message: 'passed' }, null, 'lenient'), kind);
    assert.equal(judge({ kind: 'value', value: { t: [1] } }, [1], 'lenient'), 'pass');
    assert.equal(judge({ kind: 'value', value: { t: [1] } }, [1], 'strict'), 'fail');
  });

  it('takes the worst verdict as the outcome of a program, or error without a verdict', () => {
    for (const [i, worse] of OUTCOME_ORDER.entries())
      for (const better of OUTCOME_ORDER.slice(i))
        assert.equal(judgeProgram([better, worse, 'pass'] as Verdict[]), worse);
    assert.equal(judgeProgram([]), 'error');
  });
});

// Variations of known inputs. They become tests whose expected values a reference computes.
import assert from 'node:assert/strict';
import { RandomStream } from '../../core/base/random.js';
import { freshInputs, knownInputs, negated } from '../../core/inputs/freshInputs.js';
import type { Problem } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';

const fresh = (known: Value[][], count = 40) => freshInputs(known, count, new RandomStream(0, 'test'));
const typeOf = (value: Value): string => (Array.isArray(value) ? 'list' : typeof value);

describe('freshInputs', () => {
  it('are distinct, new, and have the types of the known inputs', () => {
    const known: Value[][] = [
      [[3, 1, 2], 'cat', 4, true],
      [[5], 'a dog', 7, false],
    ];
    const inputs = fresh(known);
    assert.equal(inputs.length, 40);
    const keys = [...known, ...inputs].map((args) => JSON.stringify(args));
    assert.equal(new Set(keys).size, keys.length);
    for (const args of inputs) assert.deepEqual(args.map(typeOf), ['list', 'string', 'number', 'boolean']);
  });

  it('include edge cases that the known inputs lack', () => {
    const lists = fresh([[[3, 1, 2]], [[5, 8]]]).map(([list]) => list as number[]);
    assert.ok(lists.some((list) => list.length === 0));
    assert.ok(lists.some((list) => list.length === 1));
    assert.ok(lists.some((list) => list.some((n) => n <= 0)));
    assert.ok(lists.some((list) => new Set(list).size < list.length));
  });

  it('include changed floats and sets', () => {
    const floats = fresh([[{ f: '1.5' }]]).map(([value]) => (value as { f: string }).f);
    assert.ok(floats.includes('-1.5') && floats.includes('0.75'));
    assert.deepEqual(fresh([[{ s: ['a'] }]]), [[{ s: [] }]]);
  });

  it('come from the baseline tests, or without any from calls in the test source', () => {
    const testSource =
      'from solution import f\n\ndef test_f():\n    x = 3\n    assert f([1], "a") == 2\n    assert f(x) == f([], "b")\n';
    const problem = { entry: 'f', testSource, baselineTests: [] } as unknown as Problem;
    assert.deepEqual(knownInputs(problem), [
      [[1], 'a'],
      [[], 'b'],
    ]);
    const withValues = { ...problem, baselineTests: [{ args: [[7], 'c'], expected: 0 }] };
    assert.deepEqual(knownInputs(withValues), [[[7], 'c']]);
    assert.deepEqual(knownInputs({ ...problem, testSource: undefined } as unknown as Problem), []);
  });

  it('depend only on the random stream, and end if no input is new', () => {
    assert.deepEqual(fresh([[1]]), fresh([[1]]));
    assert.deepEqual(fresh([[null]]), []);
    assert.deepEqual(fresh([]), []);
  });
});

describe('a negated input', () => {
  it('has the opposite of every number, and the other values', () => {
    const input: Value[] = [3, 0, [1, [-2]], { t: [{ f: '0.5' }, 'a'] }, true, null, { f: '-inf' }];
    const expected: Value[] = [-3, 0, [-1, [2]], { t: [{ f: '-0.5' }, 'a'] }, true, null, { f: 'inf' }];
    assert.deepEqual(negated(input), expected);
  });
});

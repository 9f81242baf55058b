// Comparison with orders, tolerances and collections, checked against CPython's == (if there is a python3) and against a
// search over all pairings.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { comparisonOf, equalValues } from '../../core/comparison/compare.js';
import { floatRepr } from '../../core/parse/numbers.js';
import type { Comparison } from '../../core/schema/comparison.js';
import type { Value } from '../../core/schema/value.js';
import { requirePython } from '../support/cpython.js';

const f = (x: number): Value => ({ f: floatRepr(x) });
const t = (...items: Value[]): Value => ({ t: items });
const s = (...items: Value[]): Value => ({ s: items });
const d = (...pairs: [Value, Value][]): Value => ({ d: pairs });
const any: Comparison = { order: 'any' };
const deep: Comparison = { order: 'any-depth' };
const set: Comparison = { order: 'set' };
const within1 = { absolute: 1, relative: 0 };

// [claim, answer, expected, comparison, equal]
const CASES: [string, Value, Value, Comparison, boolean][] = [
  ['any: another order is equal', [3, 1, 2], [1, 2, 3], any, true],
  ['any: repeats count', [1, 1, 2], [1, 2, 2], any, false],
  ['any: the order inside an element counts', [[2, 1]], [[1, 2]], any, false],
  ['any: a tuple stands for a list', t(2, t(1)), [[1], 2], any, true],
  ['any: a set is no list', s(1, 2), [1, 2], any, false],
  ['any, strict: a tuple is no list', t(1, 2), [2, 1], { order: 'any', mode: 'strict' }, false],
  ['any, strict: 1.0 is not 1', [f(1), 2], [2, 1], { order: 'any', mode: 'strict' }, false],
  ['any: mixed types', [null, 'a', true, { b: 'YQ==' }], ['a', { b: 'YQ==' }, null, 1], any, true],
  ['any: unhashable elements', [d(['a', [1]]), s(3)], [s(3), d(['a', [1]])], any, true],
  ['any-depth: the order inside elements does not count', [[2, 1], [3]], [[3], [1, 2]], deep, true],
  ['any-depth: what belongs together stays together', [[1, 3], [2]], [[1, 2], [3]], deep, false],
  ['any-depth: inside values of a dict', d(['a', [2, 1]]), d(['a', [1, 2]]), deep, true],
  ['any-depth with a tolerance', [[f(2), f(1.00000000001)]], [[f(1), f(2.00000000001)]], deep, true],
  ['set: repeats count once', [1, 1, 2], [2, 1, 2], set, true],
  ['set: a list stands for a set', [2, 1], s(1, 2), set, true],
  ['set: none may lack', [1, 1], [1, 2], set, false],
  ['set: none may be too much', [1, 2], [1, 1], set, false],
  ['set: inside an element the order counts', [[1, 2]], [[2, 1]], set, false],
  ['set with a tolerance', [f(0.1 + 0.2), f(0.3), 5], [f(0.3), f(5)], set, true],
  ['set, strict: types count', [1], [true], { order: 'set', mode: 'strict' }, false],
  ['exact order by default', [2, 1], [1, 2], {}, false],
  // 1 pairs with 2 and 2 with 1, although each has an exact partner
  ['a pairing that no greedy choice finds', [f(1), f(2)], [f(2), f(1)], { order: 'any', ...within1 }, true],
  [
    'pairs of numbers whose first parts cross',
    [
      [f(0), f(5)],
      [f(1), f(0)],
    ],
    [
      [f(0), f(0)],
      [f(1), f(5)],
    ],
    { order: 'any', ...within1 },
    true,
  ],
  [
    'an exact expected int beside a close float',
    [1, f(1.5)],
    [f(1.2), 1],
    { order: 'any', absolute: 0.4, relative: 0 },
    true,
  ],
  [
    'two answers that need the same expected value',
    [f(0), f(0.1)],
    [f(0.05), f(9)],
    { order: 'any', ...within1 },
    false,
  ],
  ['sets take the tolerance too', s(f(0.1 + 0.2), 1), s(f(0.3), 1), 'lenient', true],
  ['sets of tuples take the tolerance', s(t(1, f(0.1 + 0.2))), s(t(1, f(0.3))), 'lenient', true],
  [
    'keys and values of dicts take the tolerance',
    d([f(0.1 + 0.2), f(1)]),
    d([f(0.3), f(1.00000000001)]),
    'lenient',
    true,
  ],
  ['a dict keeps keys with their values', d([1, 'a'], [2, 'b']), d([1, 'b'], [2, 'a']), 'lenient', false],
  ['1, 1.0 and True are one key', d([true, 'x']), d([f(1), 'x']), 'lenient', true],
  ['1, 1.0 and True are one element', s(1), s(f(1)), 'lenient', true],
  ['strict: 1.0 is another element than 1', s(1), s(f(1)), 'strict', false],
  ['-0.0 is 0 in a set, also for int', s(f(-0)), s(0), 'lenient', true],
  ['-0.0 is 0.0 strictly', s(f(-0)), s(f(0)), 'strict', true],
  ['nan is itself in a set, as a key and in a tuple', s(f(NaN), t(f(NaN))), s(t(f(NaN)), f(NaN)), 'lenient', true],
  ['nan is no number', [f(NaN)], [f(0)], { absolute: 1e300 }, false],
  ['a number is no nan', [f(0)], [f(NaN)], { absolute: 1e300 }, false],
  ['no tolerance reaches infinity', f(1.7e308), f(Infinity), { absolute: 1e308, relative: 1 }, false],
  ['infinity is within no tolerance', f(Infinity), f(1.7e308), { absolute: 1e308, relative: 1 }, false],
  ['an int beyond every float is not infinity', { i: `0x1${'0'.repeat(300)}` }, f(Infinity), 'lenient', false],
  [
    'an int next to a float is not the float',
    { i: '0x20000000000001' },
    f(2 ** 53),
    { absolute: 0, relative: 0 },
    false,
  ],
  ['an int is compared with a float exactly', f(2 ** 53), { i: '0x20000000000001' }, 'lenient', false],
  ['no tolerance where an int is expected', { c: ['3.0000000001', '0.0'] }, 3, 'lenient', false],
  ['a complex number is close in both parts', { c: ['3.0', '1e-12'] }, { c: ['3.0', '0.0'] }, 'lenient', true],
  ['a real number is expected: no imaginary part', { c: ['3.0', '1e-12'] }, f(3), 'lenient', false],
  ['complex as an element and as a key', s({ c: ['3.0', '0.0'] }), s(3), 'lenient', true],
  ["the tolerance is the problem's", f(1.4), f(1), { absolute: 0.5 }, true],
  ['the relative tolerance is of the expected value', f(110), f(100), { absolute: 0, relative: 0.1 }, true],
  ['beyond the tolerance', f(1.6), f(1), { absolute: 0.5 }, false],
  ['strict has no tolerance', f(1.4), f(1), { mode: 'strict', absolute: 0.5 }, false],
  ['a lone surrogate is itself only', '\ud800', '\ud801', 'lenient', false],
  ['bytes are no text inside sets', s({ b: 'YQ==' }), s('a'), 'lenient', false],
  ['a frozenset is a set inside a set', s(s(2, 1)), s(s(1, 2)), 'strict', true],
];

describe('the comparison of values with order and tolerance', () => {
  for (const [claim, a, b, comparison, equal] of CASES)
    it(claim, () => assert.equal(equalValues(a, b, comparison), equal));

  it('parses the comparison of a problem once', () => {
    const comparison = { order: 'any' as const };
    assert.equal(comparisonOf(comparison), comparisonOf(comparison));
    assert.deepEqual(comparisonOf({}), {
      mode: 'lenient',
      absolute: 1e-9,
      relative: 1e-9,
      order: 'exact',
      text: 'exact',
    });
    assert.deepEqual(comparisonOf('strict'), comparisonOf({ mode: 'strict' }));
  });
});

describe('the pairing of items under a tolerance', () => {
  const grid = fc.integer({ min: 0, max: 7 }).map((n) => n / 2); // multiples of one half, so that arithmetic is exact
  type Item = number | number[];
  const close = (a: Item, b: Item): boolean =>
    typeof a === 'number'
      ? typeof b === 'number' && Math.abs(a - b) <= 1
      : a.every((x, i) => close(x, (b as number[])[i]!));
  const permutations = (n: number): number[][] =>
    n === 0
      ? [[]]
      : permutations(n - 1).flatMap((p) =>
          Array.from({ length: n }, (_, at) => [...p.slice(0, at), n - 1, ...p.slice(at)]),
        );
  const paired = (a: Item[], b: Item[]): boolean =>
    a.length === b.length && permutations(a.length).some((order) => order.every((at, i) => close(a[i]!, b[at]!)));
  const covered = (a: Item[], b: Item[]): boolean =>
    a.every((x) => b.some((y) => close(x, y))) && b.every((y) => a.some((x) => close(x, y)));
  const toValue = (x: Item): Value => (typeof x === 'number' ? f(x) : x.map(f));

  for (const [name, item] of [
    ['numbers', grid],
    ['pairs of numbers', fc.tuple(grid, grid).map((pair): Item => pair)],
  ] as [string, fc.Arbitrary<Item>][])
    it(`finds ${name} equal if and only if some pairing exists`, () => {
      const list = fc.array(item, { maxLength: 5 });
      fc.assert(
        fc.property(list, list, (a, b) => {
          const [got, wanted] = [a.map(toValue), b.map(toValue)];
          assert.equal(equalValues(got, wanted, { order: 'any', ...within1 }), paired(a, b));
          assert.equal(equalValues(got, wanted, { order: 'set', ...within1 }), covered(a, b));
          assert.equal(
            equalValues(d(['k', got]), d(['k', wanted]), { order: 'any-depth', ...within1 }),
            name === 'numbers' ? paired(a, b) : deepPaired(a, b),
          );
        }),
        { numRuns: 3000, seed: 5 },
      );
    });
  const deepPaired = (a: Item[], b: Item[]): boolean =>
    a.length === b.length &&
    permutations(a.length).some((order) => order.every((at, i) => paired(a[i] as number[], b[at] as number[])));

  // a quadratic step would need 1.6 * 10 ** 7 comparisons, beyond the bound of 4 * 10 ** 6
  const N = 4_000;
  const shuffled = (make: (i: number) => Value): [Value[], Value[]] => [
    Array.from({ length: N }, (_, i) => make(i)),
    Array.from({ length: N }, (_, i) => make((i * 7919) % N)),
  ];
  const HUGE: [string, (i: number) => Value][] = [
    ['ints', (i) => i],
    ['floats', (i) => f(i / 7)],
    ["floats within each other's tolerance", (i) => f(1 + i * 1e-15)],
    ['one float', () => f(0.1)],
    ['pairs whose first part is the same', (i) => [f(0.5), f(i / 7)]],
    ['records', (i) => ['name', i % 10, f(i / 7)]],
    ['pairs that are all the same', () => [f(0.5), f(0.25)]],
    ['texts', (i) => `s${i}`],
    ['sets', (i) => s(i, f(i + 0.5))],
  ];
  for (const [name, make] of HUGE)
    it(`compares ${N} ${name} in another order, and finds one that differs`, () => {
      const [a, b] = shuffled(make);
      for (const order of ['any', 'any-depth', 'set'] as const) assert.ok(equalValues(a, b, { order }), order);
      const wrong = [...a.slice(1), name === 'texts' ? 'x' : f(-5)];
      for (const order of ['any', 'any-depth', 'set'] as const) assert.ok(!equalValues(wrong, b, { order }), order);
      assert.ok(!equalValues(a, [...b.slice(1), 'x'], 'lenient'));
    });

  it('compares sets and dicts of 20 000 parts, and chains of nested sets, in linear time', () => {
    const items = Array.from({ length: 20_000 }, (_, i) => i);
    assert.ok(equalValues({ s: items }, { s: [...items].reverse() }, 'lenient'));
    const dict = (list: number[]): Value => ({ d: list.map((i): [Value, Value] => [`k${i}`, f(i / 3)]) });
    assert.ok(equalValues(dict(items), dict([...items].reverse()), 'lenient'));
    let [chain, other]: [Value, Value] = [s('x'.repeat(500)), s(`${'x'.repeat(499)}y`)];
    for (let i = 0; i < 60; i++)
      [chain, other] = [s(chain, t(chain)), s(t(other), other)].map((v, k) =>
        i < 10 ? v : s(k === 0 ? chain : other),
      ) as [Value, Value];
    assert.ok(equalValues(chain, chain, 'lenient') && !equalValues(chain, other, 'lenient'));
  });

  it('pairs items of lists whose order differs within the tolerance, up to the limit on pairs', () => {
    const grid = (rows: number, noise: number): Value[] =>
      Array.from({ length: rows * rows }, (_, i) => {
        const [x, y] = [Math.floor(i / rows), i % rows];
        return [f(x + noise * ((y * 7) % rows)), f(y)];
      });
    assert.ok(equalValues(grid(40, 1e-14), grid(40, 0), any)); // sorting would give another order in every row of the grid
    const chained = (first: number): Value[] => Array.from({ length: 3000 }, (_, i) => [f(i), f(i === 0 ? first : 0)]);
    assert.ok(equalValues(chained(0).reverse(), chained(0), { order: 'any', ...within1 }));
    assert.ok(!equalValues(chained(9), chained(0), { order: 'any', ...within1 }));
    const crowd = (last: number): Value[] =>
      Array.from({ length: 3000 }, (_, i) => [f(1 + i * 1e-13), f(i === 2999 ? last : 1)]);
    assert.ok(equalValues(crowd(1), crowd(1).reverse(), any));
    assert.ok(!equalValues(crowd(9), crowd(1), any)); // the last item has no partner
  });
});

// ---- comparison with CPython ----
const JUDGE = `
import base64, json, sys
def decode(v):
    if isinstance(v, list): return [decode(x) for x in v]
    if isinstance(v, dict):
        ((tag, x),) = v.items()
        if tag == 'i': return int(x, 16)
        if tag == 'f': return float(x)
        if tag == 't': return tuple(decode(y) for y in x)
        if tag == 's': return frozenset(decode(y) for y in x)
        if tag == 'd': return {decode(k): decode(y) for k, y in x}
        if tag == 'b': return base64.b64decode(x)
        return complex(float(x[0]), float(x[1]))
    return v
def lists(v):
    if isinstance(v, (list, tuple)): return [lists(x) for x in v]
    if isinstance(v, dict): return {k: lists(x) for k, x in v.items()}
    return v
def strict(a, b):
    if type(a) is not type(b): return False
    if isinstance(a, (list, tuple)): return len(a) == len(b) and all(map(strict, a, b))
    if isinstance(a, frozenset): return len(a) == len(b) and all(any(strict(x, y) for y in b) for x in a)
    if isinstance(a, dict):
        return len(a) == len(b) and all(any(strict(k, l) and strict(x, y) for l, y in b.items()) for k, x in a.items())
    return a == b
json.dump([[lists(a) == lists(b), strict(a, b)] for a, b in ((decode(x), decode(y)) for x, y in json.load(sys.stdin))], sys.stdout)
`;

describe('the comparison of values next to CPython', () => {
  before(requirePython);

  // few values, so that pairs are often equal
  const leaf: fc.Arbitrary<Value> = fc.oneof(
    fc.constantFrom<Value>(null, true, false, 0, 1, 2, -1, f(0), f(-0), f(1), f(1.5), f(2), f(Infinity), f(-Infinity)),
    fc.constantFrom<Value>({ i: '0x20000000000000' }, { i: '0x20000000000001' }, f(2 ** 53), f(1e300), {
      i: BigInt(1e300) < 0n ? '' : `0x${BigInt(1e300).toString(16)}`,
    }),
    fc.constantFrom<Value>(
      { i: `0x1${'0'.repeat(260)}` },
      { c: ['1.0', '0.0'] },
      { c: ['-0.0', '0.0'] },
      { c: ['1.0', '2.0'] },
      { c: ['inf', '0.0'] },
    ),
    fc.constantFrom<Value>('', 'a', '1', '\ud800', '\udc00x', 'a\u0000', { b: '' }, { b: 'YQ==' }),
  );
  /** Leaves out repeated keys, as a real set or dict does. */
  const distinctKeys = <T>(items: fc.Arbitrary<T>, keyOf: (item: T) => Value): fc.Arbitrary<T[]> =>
    fc.uniqueArray(items, {
      maxLength: 3,
      comparator: (a, b) => equalValues(keyOf(a), keyOf(b), { absolute: 0, relative: 0 }),
    });
  const key = fc.letrec<{ key: Value }>((tie) => ({
    key: fc.oneof(
      { maxDepth: 2 },
      leaf,
      fc.array(tie('key'), { maxLength: 2 }).map((x): Value => ({ t: x })),
      distinctKeys(tie('key'), (x) => x).map((x): Value => ({ s: x })),
    ),
  })).key;
  const value = fc.letrec<{ value: Value }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.array(tie('value'), { maxLength: 3 }).map((x): Value => ({ t: x })),
      distinctKeys(key, (x) => x).map((x): Value => ({ s: x })),
      distinctKeys(fc.tuple(key, tie('value')), ([x]) => x).map((x): Value => ({ d: x })),
    ),
  })).value;
  /** Returns the same value in another form, or a similar value. */
  const variant = (v: Value, next: () => number): Value => {
    const roll = next();
    if (roll === 0) return v === 1 ? true : v === true ? f(1) : v === 0 ? f(-0) : v === 2 ? 3 : v;
    if (v === null || typeof v !== 'object') return v;
    const inner = (list: Value[]): Value[] => list.map((x) => variant(x, next));
    if (Array.isArray(v)) return roll === 1 ? { t: inner(v) } : inner(v);
    if ('t' in v) return roll === 1 ? inner(v.t) : { t: inner(v.t) };
    if ('s' in v) return { s: keys(v.s, next).reverse() };
    if ('d' in v) return { d: v.d.map(([k, x]): [Value, Value] => [k, variant(x, next)]).reverse() };
    return v;
  };
  const keys = (list: Value[], next: () => number): Value[] => list.map((x) => (next() === 0 && x === 1 ? f(1) : x));

  it('agrees with == on 6000 pairs, both lenient (tuples equal lists) and strict (equal types)', () => {
    const pairs = fc.sample(
      fc.oneof(
        fc.tuple(value, value),
        fc
          .tuple(value, fc.array(fc.nat({ max: 5 }), { minLength: 40, maxLength: 40 }))
          .map(([v, rolls]): [Value, Value] => {
            let at = 0;
            return [v, variant(v, () => rolls[at++ % rolls.length]!)];
          }),
      ),
      { numRuns: 6000, seed: 11 },
    );
    const truth = JSON.parse(
      execFileSync('python3', ['-I', '-c', JUDGE], {
        input: JSON.stringify(pairs),
        encoding: 'utf8',
        maxBuffer: 1 << 26,
      }),
    ) as [boolean, boolean][];
    let equal = 0;
    for (const [i, [a, b]] of pairs.entries()) {
      const shown = JSON.stringify([a, b]);
      const [lenient, strictly] = truth[i]!;
      assert.equal(equalValues(a, b, { absolute: 0, relative: 0 }), lenient, shown);
      assert.equal(equalValues(a, b, 'strict'), strictly, shown);
      if (lenient) assert.ok(equalValues(a, b, 'lenient'), shown);
      if (lenient) equal++;
    }
    assert.ok(equal > 1500, `${equal} equal pairs`);
  });

  it('is symmetric without a tolerance, and finds equal lists equal in every order', () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        for (const order of ['exact', 'any', 'any-depth', 'set'] as const) {
          const comparison = { order, absolute: 0, relative: 0 };
          assert.equal(equalValues(a, b, comparison), equalValues(b, a, comparison));
          assert.ok(equalValues(a, a, { order }));
          if (equalValues(a, b, { order: 'exact' })) assert.ok(equalValues(a, b, { order }));
        }
      }),
      { numRuns: 1000, seed: 3 },
    );
  });
});

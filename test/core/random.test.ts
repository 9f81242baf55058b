import assert from 'node:assert/strict';
import fc from 'fast-check';
import { deriveKey, extendKey, philox, RandomStream, uniformAt } from '../../core/base/random.js';

type Quad = [number, number, number, number];

describe('the random numbers of philox', () => {
  it('equal the known answers of Random123 for philox4x32-10', () => {
    // kat_vectors of Random123 1.14: counter, key, result
    const known: [Quad, [number, number], Quad][] = [
      [
        [0, 0, 0, 0],
        [0, 0],
        [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
      ],
      [
        [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
        [0xffffffff, 0xffffffff],
        [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
      ],
      [
        [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
        [0xa4093822, 0x299f31d0],
        [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
      ],
    ];
    for (const [counter, key, result] of known) assert.deepEqual(philox(counter, key), result);
  });
});

describe('the keys and draws of random streams', () => {
  it('depend on all parts of the path', () => {
    assert.deepEqual(deriveKey(1, 'a', 2), deriveKey(1, 'a', 2));
    const keys = [
      deriveKey(1, 'a', 2),
      deriveKey(1, 'a', 3),
      deriveKey(2, 'a', 2),
      deriveKey(1, 'b', 2),
      deriveKey(1, 'a2'),
      deriveKey('1', 'a', 2),
      deriveKey(),
    ];
    assert.equal(new Set(keys.map(String)).size, keys.length);
  });

  it('can be derived in several parts', () => {
    const path = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.integer()), { maxLength: 4 });
    fc.assert(
      fc.property(path, path, (a, b) => {
        assert.deepEqual(extendKey(deriveKey(...a), ...b), deriveKey(...a, ...b));
      }),
    );
  });

  it('lie strictly between 0 and 1, and differ at distant indices', () => {
    const key = deriveKey('range');
    fc.assert(
      fc.property(fc.maxSafeInteger().map(Math.abs), (index) => uniformAt(key, index) > 0 && uniformAt(key, index) < 1),
    );
    assert.notEqual(uniformAt(key, 0), uniformAt(key, 2 ** 32));
  });

  it('are uniformly distributed', () => {
    const cells = new Array<number>(64).fill(0);
    const key = deriveKey(7, 'uniform');
    for (let i = 0; i < 64_000; i++) cells[Math.floor(uniformAt(key, i) * 64)]!++;
    const chiSquare = cells.reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0);
    // 63 degrees of freedom: the outer 0.001 on either side are 34 and 104
    assert.ok(chiSquare > 34 && chiSquare < 104, `chi-square ${chiSquare}`);
  });

  it('are uncorrelated with the next draw and with neighbouring streams', () => {
    const n = 20_000;
    const a = deriveKey(7, 0);
    const b = deriveKey(7, 1);
    let serial = 0;
    let across = 0;
    for (let i = 0; i < n; i++) {
      serial += (uniformAt(a, i) - 0.5) * (uniformAt(a, i + 1) - 0.5);
      across += (uniformAt(a, i) - 0.5) * (uniformAt(b, i) - 0.5);
    }
    // the standard error of a correlation is 1 / sqrt(n) = 0.007
    assert.ok(Math.abs((12 * serial) / n) < 0.03);
    assert.ok(Math.abs((12 * across) / n) < 0.03);
  });
});

describe('RandomStream', () => {
  it('repeats its draws for the same path, and differs for another path', () => {
    const draws = (...path: (string | number)[]): number[] => {
      const stream = new RandomStream(...path);
      return Array.from({ length: 5 }, () => stream.uniform());
    };
    assert.deepEqual(draws(1, 'x'), draws(1, 'x'));
    assert.notDeepEqual(draws(1, 'x'), draws(2, 'x'));
    assert.equal(new Set(draws(1, 'x')).size, 5);
  });

  it('draws integers of the whole range (int)', () => {
    const stream = new RandomStream('int');
    const seen = new Set(Array.from({ length: 200 }, () => stream.int(3, 6)));
    assert.deepEqual([...seen].sort(), [3, 4, 5, 6]);
  });

  it('draws an unbiased permutation and does not change its argument (shuffle)', () => {
    const stream = new RandomStream('shuffle');
    const items = [1, 2, 3];
    const counts: Record<string, number> = {};
    for (let i = 0; i < 6000; i++) {
      const key = stream.shuffle(items).join('');
      counts[key] = (counts[key] ?? 0) + 1;
    }
    assert.deepEqual(items, [1, 2, 3]);
    assert.equal(Object.keys(counts).length, 6);
    for (const count of Object.values(counts)) assert.ok(Math.abs(count - 1000) < 150, JSON.stringify(counts));
  });

  it('draws distinct items (sample) or one item (choice), and refuses an empty list', () => {
    const stream = new RandomStream('sample');
    assert.equal(new Set(stream.sample([1, 2, 3, 4, 5], 3)).size, 3);
    assert.ok([1, 2].includes(stream.choice([1, 2])));
    assert.throws(() => stream.choice([]), RangeError);
  });

  it('draws with mean 0 and variance 1 (normal)', () => {
    const stream = new RandomStream('normal');
    const draws = Array.from({ length: 10_000 }, () => stream.normal());
    const mean = draws.reduce((sum, x) => sum + x, 0) / draws.length;
    const variance = draws.reduce((sum, x) => sum + x * x, 0) / draws.length;
    assert.ok(Math.abs(mean) < 0.05 && Math.abs(variance - 1) < 0.07, `${mean} ${variance}`);
  });
});

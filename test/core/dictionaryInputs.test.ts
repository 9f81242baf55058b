import assert from 'node:assert/strict';
import { RandomStream } from '../../core/base/random.js';
import { constantsIn, dictionaryInputs } from '../../core/inputs/dictionaryInputs.js';
import type { Value } from '../../core/schema/value.js';

const written = (known: Value[][], constants: number[], count = 60) =>
  dictionaryInputs(known, constants, count, new RandomStream(0, 'test'));

describe('dictionaryInputs', () => {
  it('uses the whole numbers of texts, and their neighbours', () => {
    assert.deepEqual(constantsIn('x > 417', 'y == -3'), [417, 416, 418, -3, -4, -2]);
    assert.deepEqual(constantsIn('no number', `${2n ** 80n}`), []);
  });

  it('returns distinct new inputs with constants that no mutation reaches', () => {
    const known: Value[][] = [[[3, 1, 2], 4]];
    const inputs = written(known, [417]);
    assert.equal(inputs.length, 60);
    const keys = [...known, ...inputs].map((args) => JSON.stringify(args));
    assert.equal(new Set(keys).size, keys.length);
    assert.ok(inputs.some(([list]) => (list as number[]).includes(417)));
    assert.ok(inputs.some(([, n]) => n === 417));
  });

  it('returns mutations if there is no number or no constant', () => {
    assert.ok(written([['cat']], [417], 10).every(([text]) => typeof text === 'string'));
    assert.equal(written([[[3, 1]]], [], 10).length, 10);
    assert.deepEqual(written([], [417]), []);
    assert.deepEqual(written([[null]], [417]), [], 'nothing can be changed');
  });
});

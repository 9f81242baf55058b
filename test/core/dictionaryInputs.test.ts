import assert from 'node:assert/strict';
import { RandomStream } from '../../core/base/random.js';
import { constantsIn, dictionaryInputs } from '../../core/inputs/dictionaryInputs.js';
import type { Value } from '../../core/schema/value.js';

const written = (known: Value[][], constants: (number | string)[], count = 60) =>
  dictionaryInputs(known, constants, count, new RandomStream(0, 'test'));

describe('dictionaryInputs', () => {
  it('uses the whole numbers of texts, and their neighbours', () => {
    assert.deepEqual(constantsIn('x > 417', 'y == -3'), [417, 416, 418, -3, -4, -2]);
    assert.deepEqual(constantsIn('no number', `${2n ** 80n}`), []);
  });

  it('uses short texts in quotes, but no longer ones and no escapes', () => {
    const texts = [`if c in "aeiou":`, `x == 'y'`, `"${'a'.repeat(21)}"`, `'\\n'`];
    assert.deepEqual(constantsIn(...texts), ['aeiou', 'y']);
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

  it('inserts texts, spaces and letters of the text at any place', () => {
    const texts = written([[['level'], 0]], ['xyz'], 400).map(([list]) => (list as string[])[0]);
    for (const text of ['le vel', 'lexyzvel', 'levvel', 'levelxyz', 'xyzlevel']) assert.ok(texts.includes(text), text);
  });

  it('replaces floats, and numbers in tuples', () => {
    const inputs = written([[{ t: [{ f: '0.5' }, 3] }]], [417], 200).map(([one]) => JSON.stringify(one));
    for (const tuple of ['{"t":[{"f":"417.0"},3]}', '{"t":[{"f":"0.5"},417]}'])
      assert.ok(inputs.includes(tuple), tuple);
  });

  it('keeps the type of what it changes, and returns mutations if there is no constant', () => {
    assert.ok(written([[true, ['cat']]], [417], 10).every(([, list]) => Array.isArray(list)));
    assert.equal(written([[[3, 1]]], [], 10).length, 10);
    assert.deepEqual(written([], [417]), []);
    assert.deepEqual(written([[null]], [417]), [], 'nothing can be changed');
  });
});

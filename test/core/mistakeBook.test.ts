import assert from 'node:assert/strict';
import { RandomStream } from '../../core/base/random.js';
import {
  byFailures,
  byQuality,
  type ExecutedTest,
  entriesOf,
  type MistakeBook,
} from '../../core/rewards/mistakeBook.js';
import { testKey } from '../../core/rewards/suite.js';
import type { TestCase } from '../../core/schema/problem.js';

const test = (input: number): TestCase => ({ args: [input], expected: input });
const outcome = (input: number, failed: boolean, origin: ExecutedTest['origin'] = 'generated'): ExecutedTest => ({
  origin,
  test: test(input),
  failed,
});
/** The inputs and weights of the entries of problem 'p'. */
const listed = (book: MistakeBook): [unknown, number][] =>
  entriesOf(book, 'p').map(({ test, weight }) => [test.args[0], weight]);

describe('the mistake book by failures', () => {
  const rule = byFailures({ replayed: 2 });

  it('adds a failed test, counts further failures, and removes the test when programs pass it', () => {
    let book: MistakeBook = {};
    book = rule.update(book, 'p', [outcome(1, true), outcome(2, false), outcome(3, true)]);
    assert.deepEqual(listed(book), [
      [1, 1],
      [3, 1],
    ]);
    book = rule.update(book, 'p', [outcome(1, true, 'book'), outcome(3, false, 'book')]);
    assert.deepEqual(listed(book), [[1, 2]]);
    book = rule.update(book, 'p', [outcome(1, false, 'book')]);
    book = rule.update(book, 'p', [outcome(1, false, 'book')]);
    assert.deepEqual(book, {});
  });

  it('never adds a baseline test', () => {
    assert.deepEqual(rule.update({}, 'p', [outcome(1, true, 'baseline')]), {});
  });

  it('keeps problems apart, whatever their names are, and does not change its argument', () => {
    const before: MistakeBook = { q: [{ test: test(7), weight: 3 }] };
    const after = rule.update(before, 'constructor', [outcome(1, true)]);
    assert.deepEqual(Object.keys(after).sort(), ['constructor', 'q']);
    assert.deepEqual(before, { q: [{ test: test(7), weight: 3 }] });
    assert.deepEqual(entriesOf(before, 'constructor'), []);
  });

  it('replays the tests with the most failures', () => {
    const entries = [1, 3, 2].map((weight) => ({ test: test(weight), weight }));
    assert.deepEqual(rule.replay(entries, new RandomStream('x')), [test(3), test(2)]);
  });
});

describe('the mistake book by quality', () => {
  const rule = byQuality({ valid: 0.6, caught: 0.4, size: 3 });

  it('adds every generated test with its latest quality', () => {
    let book = rule.update({}, 'p', [outcome(1, true), outcome(2, false), outcome(9, true, 'baseline')]);
    assert.deepEqual(listed(book), [
      [1, 1],
      [2, 0.6],
    ]);
    book = rule.update(book, 'p', [outcome(1, false, 'book'), outcome(2, true, 'book')]);
    assert.deepEqual(listed(book), [
      [1, 0.6],
      [2, 1],
    ]);
  });

  it('drops the tests of the lowest quality if it becomes too large', () => {
    let book = rule.update({}, 'q', [outcome(1, false), outcome(2, true)]);
    book = rule.update(book, 'p', [outcome(3, false), outcome(4, true)]);
    assert.deepEqual(Object.keys(book).sort(), ['p', 'q']);
    assert.deepEqual(listed(book), [
      [3, 0.6],
      [4, 1],
    ]);
    assert.deepEqual(entriesOf(book, 'q'), [{ test: test(2), weight: 1 }]);
  });

  it('draws up to eight tests in proportion to their quality', () => {
    const entries = Array.from({ length: 10 }, (_, i) => ({ test: test(i), weight: i === 0 ? 1 : 0.1 }));
    const random = new RandomStream('draws');
    const first = Array.from({ length: 400 }, () => rule.replay(entries, random));
    assert.ok(first.every((drawn) => new Set(drawn.map(testKey)).size === 8));
    // 1 of 1.9 of the weight: drawn first in 53 % of the cases
    const share = first.filter(([one]) => testKey(one!) === '[0]').length / first.length;
    assert.ok(share > 0.45 && share < 0.6, String(share));
  });
});

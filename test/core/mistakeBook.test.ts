import assert from 'node:assert/strict';
import type { ExecutedTest, MistakeBook } from '../../core/rewards/mistakeBook.js';
import { entriesOf, replayedTests, updatedBook } from '../../core/rewards/mistakeBook.js';
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

describe('the mistake book', () => {
  it('adds a failed test, counts further failures, and removes the test when programs pass it', () => {
    let book = updatedBook({}, 'p', [outcome(1, true), outcome(2, false), outcome(3, true)]);
    assert.deepEqual(listed(book), [
      [1, 1],
      [3, 1],
    ]);
    book = updatedBook(book, 'p', [outcome(1, true, 'book'), outcome(3, false, 'book')]);
    assert.deepEqual(listed(book), [[1, 2]]);
    book = updatedBook(book, 'p', [outcome(1, false, 'book')]);
    book = updatedBook(book, 'p', [outcome(1, false, 'book')]);
    assert.deepEqual(book, {});
  });

  it('counts a test once that is in the suites of several programs, as failed if one of them fails it', () => {
    const book = updatedBook({}, 'p', [outcome(1, true), outcome(2, true)]);
    const again = [true, false, false, false].map((failed, i) => outcome(1 + (i % 2), failed, 'book'));
    assert.deepEqual(listed(updatedBook(book, 'p', again)), [[1, 2]]);
  });

  it('never adds a baseline test', () => {
    assert.deepEqual(updatedBook({}, 'p', [outcome(1, true, 'baseline')]), {});
  });

  it('keeps problems apart, whatever their names are, and does not change its argument', () => {
    const before: MistakeBook = { q: [{ test: test(7), weight: 3 }] };
    const after = updatedBook(before, 'constructor', [outcome(1, true)]);
    assert.deepEqual(Object.keys(after).sort(), ['constructor', 'q']);
    assert.deepEqual(before, { q: [{ test: test(7), weight: 3 }] });
    assert.deepEqual(entriesOf(before, 'constructor'), []);
  });

  it('replays the eight tests with the most failures', () => {
    const p = [1, 3, 2, 4, 5, 6, 7, 8, 9].map((weight) => ({ test: test(weight), weight }));
    assert.deepEqual(replayedTests({ p }, 'p'), [9, 8, 7, 6, 5, 4, 3, 2].map(test));
  });
});

// Answers that are kept as values have a memory budget. largeAnswers.system.test.ts measures the memory.
import assert from 'node:assert/strict';
import type { CallResult } from '../../core/schema/execution.js';
import { keepWithin, reduceCall, sizeOf } from '../../sandbox/answers.js';

describe('the answers that are kept for judging', () => {
  const answers = ['x'.repeat(1000), 'y'.repeat(1000), 'z'];
  const run = (reduce: ReturnType<typeof keepWithin>): CallResult['kind'][] =>
    answers.map(
      (value, i) => reduceCall({ id: '', code: '', entry: '', inputs: [], reduce }, { kind: 'value', value }, i).kind,
    );

  it('become errors once they exceed the budget, also when the program runs again', () => {
    const reduce = keepWithin(3000);
    assert.deepEqual(run(reduce), ['value', 'error', 'error']);
    assert.deepEqual(run(reduce), ['value', 'error', 'error']);
    assert.deepEqual(run(keepWithin(sizeOf(answers))), ['value', 'value', 'value']);
  });

  it('have a size estimate that counts every part', () => {
    assert.ok(sizeOf([[], []]) > sizeOf([[]]));
    assert.ok(sizeOf({ d: [['key', 1]] }) > sizeOf(['key', 1]));
    assert.ok(sizeOf('ü'.repeat(100)) >= 200);
  });
});

// Running out of memory is a machine fault, so it is retryable. Other RangeErrors are program defects.
import assert from 'node:assert/strict';
import type { ApplicationFailure } from '@temporalio/common';
import { LOGIC_FAULT, toFailure } from '../../activities/failures.js';

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('out-of-memory errors', () => {
  for (const [what, allocate] of Object.entries({
    'an array': () => new ArrayBuffer(2 ** 45),
    'a shared array': () => new SharedArrayBuffer(2 ** 45),
  })) {
    it(`are retryable (${what})`, () => {
      const failure = toFailure(thrownBy(allocate)) as ApplicationFailure;
      assert.deepEqual([failure.nonRetryable, failure.type], [false, 'RangeError']);
    });
  }

  it('do not include other RangeErrors', () => {
    for (const work of [() => new Float32Array(-1), () => [].length.toFixed(-1)]) {
      const failure = toFailure(thrownBy(work)) as ApplicationFailure;
      assert.deepEqual([failure.nonRetryable, failure.type], [true, LOGIC_FAULT]);
    }
  });
});

// Memory that runs out is the machine's fault, not the program's: what Temporal may retry, told apart from what it may not.
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

describe('memory that runs out', () => {
  for (const [what, allocate] of Object.entries({
    'an array': () => new ArrayBuffer(2 ** 45),
    'a shared array': () => new SharedArrayBuffer(2 ** 45),
  })) {
    it(`is retried (${what} that cannot be had)`, () => {
      const failure = toFailure(thrownBy(allocate)) as ApplicationFailure;
      assert.deepEqual([failure.nonRetryable, failure.type], [false, 'RangeError']);
    });
  }

  it('is not what any other RangeError says', () => {
    for (const work of [() => new Float32Array(-1), () => [].length.toFixed(-1)]) {
      const failure = toFailure(thrownBy(work)) as ApplicationFailure;
      assert.deepEqual([failure.nonRetryable, failure.type], [true, LOGIC_FAULT]);
    }
  });
});

import assert from 'node:assert/strict';
import { isRecordedAt } from '../../core/control.js';
import type { ControlMetrics } from '../../core/schema/metrics.js';

describe('isRecordedAt', () => {
  it('is true only if stage, index in the plan and number of updates are equal', () => {
    const position = { stage: 5, next: 3, step: 7 } as const;
    const record: ControlMetrics = { kind: 'control', index: 0, ...position, action: 'pause', at: '2026-01-01' };
    assert.equal(isRecordedAt(record, position), true);
    for (const other of [{ stage: 1 }, { next: 4 }, { step: 6 }]) {
      assert.equal(isRecordedAt(record, { ...position, ...other }), false);
    }
  });
});

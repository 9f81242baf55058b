import assert from 'node:assert/strict';
import { isRecordedAt, RequestQueue } from '../../core/run/control.js';
import type { ControlMetrics } from '../../core/schema/metrics.js';

describe('isRecordedAt', () => {
  it('is true only if the stage, the index in the plan and the number of updates are equal', () => {
    const position = { stage: 5, next: 3, step: 7 } as const;
    const record: ControlMetrics = { kind: 'control', index: 0, ...position, action: 'pause', at: '2026-01-01' };
    assert.equal(isRecordedAt(record, position), true);
    for (const other of [{ stage: 1 }, { next: 4 }, { step: 6 }]) {
      assert.equal(isRecordedAt(record, { ...position, ...other }), false);
    }
  });
});

describe('RequestQueue', () => {
  it('shows a request until it has an effect', () => {
    const queue = new RequestQueue();
    const at = '2026-01-01';
    queue.accept({ kind: 'pause', at });
    assert.deepEqual(queue.requestedIn('training'), ['pause']);
    queue.take();
    assert.deepEqual(queue.requestedIn('evaluating'), ['pause'], 'it waits for an evaluation');
    assert.deepEqual(queue.requestedIn('paused'), []);
    queue.accept({ kind: 'resume', at });
    assert.deepEqual(queue.requestedIn('paused'), ['resume']);
    queue.take();
    assert.deepEqual(queue.requestedIn('training'), []);
    for (const kind of ['pause', 'stop'] as const) {
      queue.accept({ kind, at });
      queue.take();
    }
    assert.deepEqual(queue.requestedIn('completed'), [], 'a stop ends the pause');
  });

  it('refuses every request except another stop once a stop was accepted, even in the next execution', () => {
    const queue = new RequestQueue();
    queue.accept({ kind: 'stop', at: '2026-01-01' });
    for (const next of [queue, new RequestQueue(queue.snapshot)]) {
      for (const kind of ['pause', 'resume', 'change'] as const) {
        assert.throws(() => next.validate(kind, {}), { code: 'BAD_INPUT', message: /stops after the current step/ });
      }
      next.validate('stop');
    }
    assert.equal(queue.take()?.kind, 'stop');
    assert.throws(() => queue.validate('pause'), /stops after the current step/);
  });
});

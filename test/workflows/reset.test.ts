// The event to which `gauntlet resume` resets a run.
import assert from 'node:assert/strict';
import { resetPoint } from '../../cli/run/resuming.js';

describe('the reset point of a closed run', () => {
  const task = { workflowTaskCompletedEventAttributes: {} };
  const scheduled = (workflowTask: number) => ({
    activityTaskScheduledEventAttributes: { workflowTaskCompletedEventId: workflowTask },
  });
  const failed = (scheduledEventId?: number) => ({
    workflowExecutionFailedEventAttributes: {
      failure: {
        message: 'no',
        cause: scheduledEventId === undefined ? null : { activityFailureInfo: { scheduledEventId } },
      },
    },
  });
  const pointOf = (...events: object[]) =>
    resetPoint({ events: events.map((event, index) => ({ eventId: index + 1, ...event })) } as never);

  it('is the workflow task that scheduled the activity that failed', () => {
    assert.equal(pointOf({}, task, scheduled(2), task, scheduled(4), task, failed(3)), 2);
    assert.equal(pointOf({}, task, scheduled(2), task, scheduled(4), task, failed(5)), 4);
  });

  it('is the last workflow task if no activity failed', () => {
    assert.equal(pointOf({}, task, scheduled(2), task, failed()), 4);
    assert.equal(pointOf({}, task, scheduled(2), task, { workflowExecutionTerminatedEventAttributes: {} }), 4);
  });

  it('is the last workflow task before a cancellation', () => {
    const cancel = { workflowExecutionCancelRequestedEventAttributes: {} };
    assert.equal(pointOf({}, task, cancel, task, { workflowExecutionCanceledEventAttributes: {} }), 2);
  });

  it('is undefined if no workflow task completed', () => {
    assert.equal(pointOf({}, { workflowExecutionTerminatedEventAttributes: {} }), undefined);
    assert.equal(resetPoint({}), undefined);
  });
});

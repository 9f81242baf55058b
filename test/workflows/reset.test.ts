// The event to which `gauntlet resume` resets a run.
import assert from 'node:assert/strict';
import { resetPoint } from '../../cli/run/resuming.js';

describe('the reset point of a closed run', () => {
  const task = { workflowTaskCompletedEventAttributes: {} };
  const scheduled = (workflowTask: number) => ({
    activityTaskScheduledEventAttributes: { workflowTaskCompletedEventId: workflowTask },
  });
  const done = (scheduledEventId: number) => ({ activityTaskCompletedEventAttributes: { scheduledEventId } });
  const fault = (scheduledEventId: number) => ({ activityTaskFailedEventAttributes: { scheduledEventId } });
  const late = (scheduledEventId: number) => ({ activityTaskTimedOutEventAttributes: { scheduledEventId } });
  const lost = (scheduledEventId: number) => ({ activityTaskCanceledEventAttributes: { scheduledEventId } });
  const cancel = { workflowExecutionCancelRequestedEventAttributes: {} };
  const terminated = { workflowExecutionTerminatedEventAttributes: {} };
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
    assert.equal(pointOf({}, task, scheduled(2), fault(3), task, scheduled(5), fault(6), task, failed(3)), 2);
    assert.equal(pointOf({}, task, scheduled(2), fault(3), task, scheduled(5), fault(6), task, failed(6)), 5);
  });

  it('is the workflow task that scheduled the first activity without a result', () => {
    const [one, two, three] = [scheduled(2), scheduled(2), scheduled(6)];
    assert.equal(pointOf({}, task, one, two, done(4), task, three, terminated), 2);
    assert.equal(pointOf({}, task, one, two, done(4), task, done(3), three, terminated), 6);
    assert.equal(
      pointOf({}, task, one, task, task, cancel, lost(3), task, { workflowExecutionCanceledEventAttributes: {} }),
      2,
    );
    assert.equal(pointOf({}, task, one, two, fault(4), task, failed(4)), 2);
  });

  it('is the last workflow task if all activities have a result', () => {
    assert.equal(pointOf({}, task, scheduled(2), done(3), task, failed()), 5);
    assert.equal(pointOf({}, task, scheduled(2), late(3), task, terminated), 5);
  });

  it('is the last workflow task before a cancellation', () => {
    assert.equal(pointOf({}, task, cancel, task, { workflowExecutionCanceledEventAttributes: {} }), 2);
  });

  it('is undefined if no workflow task completed', () => {
    assert.equal(pointOf({}, terminated), undefined);
    assert.equal(resetPoint({}), undefined);
  });
});

// A user resets a run in Temporal. resume.system.test.ts tests the resets of `gauntlet resume`.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { RUN, undisturbed } from './disturbances.js';
import { runFixture } from './fixture.js';

describe('a run that a user resets', () => {
  const f = runFixture('reset');

  /** Resets a run as `temporal workflow reset --event-id` does. */
  async function reset(handle: WorkflowHandle, eventId: number): Promise<void> {
    const { runId } = await handle.describe();
    await f.host.client.workflowService.resetWorkflowExecution({
      namespace: f.host.server.namespace,
      workflowExecution: { workflowId: handle.workflowId, runId },
      workflowTaskFinishEventId: eventId as never,
      reason: 'test',
      requestId: randomUUID(),
    });
  }
  async function workflowTasks(handle: WorkflowHandle): Promise<number[]> {
    const { events } = await handle.fetchHistory();
    return (events ?? [])
      .filter((event) => event.workflowTaskCompletedEventAttributes)
      .map(({ eventId }) => Number(eventId));
  }

  for (const [which, index] of [
    ['first', 0],
    ['latest', -1],
  ] as const) {
    it(`completes with the same bytes after a reset to its ${which} workflow task`, async () => {
      const hold = f.holdUpdate(3);
      await f.start();
      await hold.reached;
      await reset(f.run(), (await workflowTasks(f.run())).at(index)!);
      hold.release();
      assert.deepEqual(await f.completed(), (await undisturbed()).bytes);
    });
  }

  it('keeps the requests that it accepted before and after the chosen task', async () => {
    const [first, second] = [f.holdUpdate(1), f.holdUpdate(2)];
    await f.start();
    await first.reached;
    const rates = [2e-4, 3e-4];
    await f.update('change', { ppo: { learningRate: rates[0] } });
    first.release();
    await second.reached;
    const task = (await workflowTasks(f.run())).at(-1)!;
    await f.update('change', { ppo: { learningRate: rates[1] } });
    await reset(f.run(), task);
    second.release();
    const bytes = await f.completed();
    const controls = await f.controls();
    assert.deepEqual(await f.actions(), [
      ['change', 1],
      ['change', 2],
    ]);
    const change = (i: number) => ({ kind: 'change' as const, fields: controls[i]!.fields!, at: controls[i]!.at });
    assert.deepEqual(bytes, (await undisturbed(RUN, { 1: [change(0)], 2: [change(1)] })).bytes);
    assert.deepEqual(
      (await f.steps()).map(({ learningRate }) => learningRate),
      [1e-4, rates[0], rates[1], rates[1]],
    );
  });

  it('trains again from an earlier step after it had completed', async () => {
    await f.start();
    const bytes = await f.completed();
    const tasks = await workflowTasks(f.run());
    await reset(f.run(), tasks[Math.floor(tasks.length / 2)]!);
    assert.deepEqual(await f.completed(), bytes);
  });
});

// Recorded histories replay with the current workflow code, and have small payloads.
import assert from 'node:assert/strict';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { workflowBundle } from '../../workers/bundle.js';
import { createLogger } from '../../workers/logger.js';
import { installRuntime } from '../../workers/start.js';
import { payloadSizes, type RecordedHistory, recorded, recordedNames, workflowIdOf } from './golden.js';

const PAYLOAD_BYTES = 8 * 1024;

/** The errors of the histories in their order; undefined for a history that replays. One worker replays all of them. */
async function replay(histories: RecordedHistory[]): Promise<(Error | undefined)[]> {
  const codePath = await workflowBundle();
  const given = histories.map((history) => ({ workflowId: workflowIdOf(history), history }));
  const errors = new Map<string, Error | undefined>();
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle: { codePath } }, given))
    errors.set(workflowId, error);
  assert.equal(errors.size, histories.length);
  return given.map(({ workflowId }) => errors.get(workflowId));
}

const terminal = (events: Record<string, unknown>[]): string =>
  String(events.at(-1)!.eventType).replace('EVENT_TYPE_WORKFLOW_EXECUTION_', '');

describe('recorded histories', () => {
  before(() => installRuntime(createLogger('fatal')));

  const RECORDED = {
    whole: 'COMPLETED',
    steered: 'COMPLETED',
    waited: 'COMPLETED',
    failed: 'FAILED',
    continued: 'COMPLETED',
    evaluateCheckpoint: 'COMPLETED',
    solveProblems: 'COMPLETED',
  };

  it('cover runs that complete, receive requests, wait for a decision, fail or continue as new', async () => {
    const ends: Record<string, string> = {};
    for (const name of await recordedNames()) ends[name] = terminal((await recorded(name)).events);
    assert.deepEqual(ends, RECORDED);
    const has = async (name: string, type: string): Promise<boolean> =>
      JSON.stringify((await recorded(name)).events).includes(type);
    assert.ok(await has('steered', 'UPDATE_ACCEPTED'));
    assert.ok(await has('waited', 'UPDATE_ACCEPTED'));
    assert.ok(await has('waited', 'ACTIVITY_TASK_FAILED'));
    assert.ok(await has('continued', '"continuedExecutionRunId"'));
  });

  it('replay without errors', async () => {
    const names = await recordedNames();
    assert.deepEqual(
      await replay(await Promise.all(names.map(recorded))),
      names.map(() => undefined),
    );
  });

  it('do not replay if an activity is replaced by another one', async () => {
    const replaced = [
      ['whole', 'executeSuite', 'selectChains'],
      ['steered', 'reviseRun', 'recordMetrics'],
      ['waited', 'trainPolicy', 'generateTests'],
      ['failed', 'prepareRun', 'renderReport'],
      ['continued', 'renderReport', 'reviseRun'],
      ['evaluateCheckpoint', 'measureEvaluation', 'collectSolutions'],
      ['solveProblems', 'prepareSolving', 'prepareRun'],
    ] as const;
    const changed = replaced.map(async ([name, activity, other]) => {
      const text = JSON.stringify(await recorded(name));
      assert.ok(text.includes(`"${activity}"`), name);
      return JSON.parse(text.replace(`"${activity}"`, `"${other}"`)) as RecordedHistory;
    });
    const errors = await replay(await Promise.all(changed));
    for (const [i, [name, , other]] of replaced.entries()) {
      assert.ok(errors[i] instanceof DeterminismViolationError, name);
      assert.match(errors[i].message, new RegExp(`^[^\\n]*${other}`), name);
    }
  });

  it('have no payload over 8 KB', async () => {
    for (const name of await recordedNames()) {
      const sizes = payloadSizes(await recorded(name));
      assert.ok(sizes.length > 10, `${name}: ${sizes.length} payloads`);
      assert.ok(Math.max(...sizes) < PAYLOAD_BYTES, `${name}: ${Math.max(...sizes)} bytes`);
    }
  });
});

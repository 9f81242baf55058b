import assert from 'node:assert/strict';
import { ActivityFailure, ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { progressDetails } from '../../core/run/progressDetails.js';
import type { RunProgress } from '../../core/schema/run.js';
import { generateEvaluation, judgeEvaluation } from '../../method/evaluate.js';
import { recordMetrics } from '../../method/records.js';
import { describeFailure, unwrapFailure } from '../../workflows/failures.js';

const failed = (cause: Error): ActivityFailure =>
  new ActivityFailure('Activity task failed', 'prepareRun', '1', 'NON_RETRYABLE_FAILURE', 'worker', cause);

describe('the summary of an activity', () => {
  it('says in one line what the activity is for', () => {
    const judged = (target: object) => judgeEvaluation.summary!({ target } as never);
    assert.equal(recordMetrics.summary!({ metrics: { kind: 'step', step: 9 } } as never), 'step at step 9');
    assert.equal(generateEvaluation.summary!({ split: 'validation' } as never), 'validation split');
    assert.equal(
      judged({ split: 'validation', checkpoint: { stage: 2, epoch: 3 } }),
      'validation split · stage 2, epoch 3',
    );
    assert.equal(judged({ split: 'test', checkpoint: 'base' }), 'test split · base');
  });
});

describe('the details of a run in the Web UI', () => {
  const progress: RunProgress = { runId: 'r', state: 'training', step: 3, totalSteps: 8 };

  it('show the state, the position and the latest figures', () => {
    assert.equal(progressDetails(progress), '**training** · step 3 of 8');
    const measured = { stage: 2, phase: 'generator', epoch: 1, reward: 0.5, best: { name: 'c', score: 0.25 } } as const;
    const lines = progressDetails({ ...progress, ...measured, validation: { passRate: 0.5 } }).split('\n\n');
    assert.deepEqual(lines.slice(1), [
      'stage 2 · generator · epoch 1',
      'reward 0.500',
      'validation pass rate 50.0 %',
      'best `c` (0.250)',
    ]);
  });

  it('show the command that continues a run that is paused, waits or has failed', () => {
    const failure = { activity: 'trainPolicy', code: 'BAD_ADAPTER', message: 'damaged', inStep: true };
    const command = (change: Partial<RunProgress>) =>
      progressDetails({ ...progress, ...change })
        .split('\n\n')
        .slice(1);
    assert.deepEqual(command({ state: 'paused' }), ['Continue with `gauntlet resume r`.']);
    const reason = '`trainPolicy` failed: BAD_ADAPTER: damaged';
    assert.deepEqual(command({ state: 'failed', failure }), [reason, 'Continue with `gauntlet resume r`.']);
    const final = command({ state: 'failed', failure: { ...failure, code: 'BAD_CONFIG' } });
    assert.deepEqual(final.slice(1), ['Start another run with a corrected configuration.']);
    assert.deepEqual(command({ state: 'waiting', failure }), [
      reason,
      'Continue with `gauntlet resume r`, skip the step with `--skip`, or end the run with `--abort`.',
    ]);
    assert.deepEqual(command({ state: 'waiting', failure: { ...failure, inStep: false } }), [
      reason,
      'Continue with `gauntlet resume r` or end the run with `--abort`.',
    ]);
  });
});

describe('unwrapFailure', () => {
  it('returns the root cause of an activity failure with its code', () => {
    const root = ApplicationFailure.create({ message: 'preset: unknown', type: 'BAD_CONFIG', nonRetryable: true });
    const { message, type, nonRetryable } = unwrapFailure(failed(root)) as ApplicationFailure;
    assert.deepEqual([message, type, nonRetryable], ['preset: unknown', 'BAD_CONFIG', true]);
  });

  it('returns a cancellation and an error without an activity unchanged', () => {
    for (const error of [failed(new CancelledFailure('cancelled')), new Error('defect')]) {
      assert.equal(unwrapFailure(error), error);
    }
  });
});

describe('describeFailure', () => {
  it('names the activity, and the code and the message of the root cause', () => {
    const coded = ApplicationFailure.create({ message: 'no disk', type: 'STORE_FAULT' });
    const description = { activity: 'prepareRun', code: 'STORE_FAULT', message: 'no disk' };
    assert.deepEqual(describeFailure(failed(failed(coded)), true), { ...description, inStep: true });
    const uncoded = ApplicationFailure.create({ message: 'odd' });
    assert.deepEqual(describeFailure(failed(uncoded)), {
      ...description,
      code: 'Error',
      message: 'odd',
      inStep: false,
    });
  });

  it('uses the name of an error of the workflow itself', () => {
    assert.deepEqual(describeFailure(new TypeError('a defect')), {
      activity: 'workflow',
      code: 'TypeError',
      message: 'a defect',
      inStep: false,
    });
  });
});

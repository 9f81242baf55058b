import assert from 'node:assert/strict';
import { ActivityFailure, ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { resolveConfig } from '../../core/presets.js';
import type { RunConfig } from '../../core/schema/config.js';
import { plainFailure, rootOf } from '../../workflows/failures.js';
import { index } from '../../workflows/messages.js';
import { summaryOf } from '../../workflows/proxies.js';
import { completed } from '../../workflows/state.js';

const POSITION = { stage: 2, phase: 'alternating', epoch: 3, step: 7, role: 'generator' } as const;
const failed = (cause: Error): ActivityFailure =>
  new ActivityFailure('Activity task failed', 'prepareRun', '1', 'NON_RETRYABLE_FAILURE', 'worker', cause);

describe('what a workflow says of itself', () => {
  it('is one line for each activity', () => {
    const batch = { kind: 'train', role: 'generator', position: POSITION } as const;
    const evaluation = { kind: 'evaluation', split: 'test', problems: 4, greedy: true } as const;
    const lines = [
      summaryOf('generateChains', { batch }),
      summaryOf('generateChains', { batch: evaluation }),
      summaryOf('generateTests', { targets: { kind: 'selected', targets: 'sha256:0', position: POSITION } }),
      summaryOf('executeSuite', { per: 'target', suite: 'hidden' }),
      summaryOf('trainPolicy', { role: 'discriminator', position: POSITION }),
      summaryOf('trainPolicy', { role: 'generator', position: POSITION, evaluation: {} }),
      summaryOf('recordMetrics', { metrics: { kind: 'step', step: 9 } }),
      summaryOf('generateEvaluation', { split: 'validation' }),
      summaryOf('judgeEvaluation', { target: { split: 'validation', checkpoint: { stage: 2, epoch: 3 } } }),
      summaryOf('judgeEvaluation', { target: { split: 'test', checkpoint: 'base' } }),
      summaryOf('prepareRun', { runId: 'r' }),
    ];
    assert.deepEqual(lines, [
      'stage 2 · step 7 · alternating · generator · chains',
      'test greedy · chains',
      'stage 2 · step 7 · alternating · tests (selected)',
      'hidden suite by target',
      'stage 2 · step 7 · alternating · discriminator',
      'stage 2 · step 7 · alternating · generator · and chains and tests of the validation split',
      'step at step 9',
      'chains and tests of the validation split',
      'checkpoint_stage_2_epoch_3',
      'base on the test split',
      'prepareRun',
    ]);
  });

  it('sets no search attribute where the server has none', () => {
    assert.doesNotThrow(() => index(false, { stage: 1 })); // it would throw outside a workflow
    assert.throws(() => index(true, { stage: 1 }));
  });
});

describe('the configuration of a run that began before a field was there', () => {
  it('is what it then meant; one of today is what it says', () => {
    const today = resolveConfig({ mode: 'unified', stages: [5], ppo: { schedule: 'cosine', finalFactor: 0.5 } });
    assert.deepEqual(completed(today), today);
    const { stages: _stages, mode: _mode, ...rest } = resolveConfig();
    const { schedule: _schedule, finalFactor: _finalFactor, ...ppo } = rest.ppo;
    assert.deepEqual(completed({ ...rest, ppo } as RunConfig), resolveConfig());
  });
});

describe('a failed workflow', () => {
  it('fails with the coded line at the root of an activity’s failure', () => {
    const root = ApplicationFailure.create({ message: 'preset: unknown', type: 'BAD_CONFIG', nonRetryable: true });
    const { message, type, nonRetryable } = plainFailure(failed(root)) as ApplicationFailure;
    assert.deepEqual([message, type, nonRetryable], ['preset: unknown', 'BAD_CONFIG', true]);
  });

  it('has one line and one code at its root, however deep that lies; without a code, the name of its error', () => {
    const coded = ApplicationFailure.create({ message: 'no disk', type: 'STORE_FAULT' });
    assert.deepEqual(rootOf(failed(failed(coded))), { type: 'STORE_FAULT', message: 'no disk' });
    assert.deepEqual(rootOf(failed(ApplicationFailure.create({ message: 'odd' }))), { type: 'Error', message: 'odd' });
    assert.deepEqual(rootOf(new TypeError('a defect')), { type: 'TypeError', message: 'a defect' });
    assert.deepEqual(rootOf('a text'), { type: 'Error', message: 'a text' });
  });

  it('stays what it is when it was cancelled, or has no coded root', () => {
    const cancelled = failed(new CancelledFailure('cancelled'));
    assert.equal(plainFailure(cancelled), cancelled);
    const other = new Error('defect');
    assert.equal(plainFailure(other), other);
  });
});

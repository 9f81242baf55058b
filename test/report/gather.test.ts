import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Worker } from 'node:worker_threads';
import { resolveConfig } from '../../core/presets.js';
import { inThread } from '../../ml/pool/inThread.js';
import { controlSchema } from '../../report/data.js';
import { renderReport } from '../../report/renderReport.js';
import { commitCheckpoint } from '../../store/checkpoints.js';
import { createRun, writeMetrics, writeResult } from '../../store/runs.js';
import { controlOf, controlPath, gatherReport, isControlOf, renderRunReport } from '../../workers/report.js';
import { refusal, sampleFacts, sampleFiles, withStore } from '../store/support.js';
import { fakeDigest, sampleData } from './sample.js';

describe('report: records in the store', () => {
  it('render the page of a run while it is running and after it ended', () =>
    withStore(async (store) => {
      const sample = sampleData();
      await assert.rejects(renderRunReport(store, 'first'), refusal('NOT_FOUND', 'first'));
      const facts = { modelDigest: fakeDigest('b'), dataDigest: fakeDigest('c'), codeVersion: '0.1.0' };
      await createRun(store, 'first', { ...facts, config: sample.config });
      for (const record of sample.metrics) {
        await writeMetrics(
          store,
          'first',
          record.kind === 'evaluation' || record.kind === 'control'
            ? `${record.step}-${record.kind === 'evaluation' ? record.split : record.index}`
            : record.step,
          record,
        );
      }
      const best = await commitCheckpoint(store, 'first', sampleFacts({ stage: 5, epoch: 6, step: 60 }), sampleFiles());
      assert.match(renderReport(await gatherReport(store, 'first')), /<h1>Run first: stage 5, update 60<\/h1>/);

      await writeResult(store, 'first', { ...sample.result!, best: best.name }, sample.chain!.view);
      const data = await gatherReport(store, 'first');
      assert.equal(data.metrics.length, sample.metrics.length);
      assert.deepEqual(data.checkpoints, [best]);
      const threads: Worker[] = [];
      const onThread = (thread: Worker): number => threads.push(thread);
      process.on('worker', onThread);
      const page = await renderRunReport(store, 'first').finally(() => process.off('worker', onThread));
      assert.equal(threads.length, 1, 'a thread draws');
      assert.equal(page, renderReport(data), 'and draws what is drawn here');
      for (const text of ['65.2 % → 93.2 %', best.name, best.digest, 'Executable code', fakeDigest('b')]) {
        assert.ok(page.includes(text), text);
      }
      await store.writeRunFile('first', 'metrics/61.json', '{"kind": "step"}');
      await assert.rejects(gatherReport(store, 'first'), refusal('CORRUPT_ARTIFACT', 'first'));
    }));

  it('have the configuration with the recorded changes, and a control only if that fits it', () =>
    withStore(async (store) => {
      const facts = { modelDigest: fakeDigest('b'), dataDigest: fakeDigest('c'), codeVersion: '0.1.0' };
      await createRun(store, 'changed', { ...facts, config: resolveConfig({ preset: 'tiny' }) });
      const change = (index: number, fields: Record<string, unknown>) =>
        writeMetrics(store, 'changed', `1-control-${index}`, {
          ...{ kind: 'control', action: 'change', step: 1, stage: 1, next: 1, at: '' },
          ...{ index, fields },
        });
      await change(0, { budget: { tokens: 9 } }); // changes no result
      assert.ok((await gatherReport(store, 'changed')).control);
      await change(1, { schedule: { alternatingSteps: 2 } });
      const { config, control } = await gatherReport(store, 'changed');
      assert.equal(config.schedule.alternatingSteps, 2);
      assert.equal(control, undefined);
    }));

  it('errors of the rendering thread keep their type', async () => {
    // missing data is a defect of the program, so nothing may retry it forever
    await assert.rejects(inThread(new URL('../../workers/reportThread.js', import.meta.url), null), TypeError);
  });

  it('uses only a finished run without a discriminator as a control', () =>
    withStore(async (store) => {
      const sample = sampleData();
      const facts = { modelDigest: fakeDigest('b'), dataDigest: fakeDigest('c'), codeVersion: '0.1.0' };
      const config = resolveConfig({ preset: 'tiny-no-discriminator', seed: 1 });
      await createRun(store, 'alone', { ...facts, config });
      await assert.rejects(controlOf(store, 'alone', 'x'), refusal('BAD_INPUT', 'not finished'));
      const point = sample.metrics.find((record) => record.kind === 'evaluation')!;
      await writeMetrics(store, 'alone', `${point.step}-validation`, point);
      await writeResult(store, 'alone', { ...sample.result!, runId: 'alone' });
      const control = await controlOf(store, 'alone', 'gauntlet train');
      assert.deepEqual(control.points, [{ step: point.step, rates: point.rates }]);
      assert.equal(control.digest, fakeDigest('e'));
      await createRun(store, 'both', { ...facts, config: sample.config });
      await assert.rejects(controlOf(store, 'both', 'x'), refusal('BAD_INPUT', 'has a discriminator'));
    }));

  it('a control may differ from its run in discriminator, seed and sandbox only', () => {
    const run = resolveConfig({ seed: 3, sandbox: 'wasm' });
    assert.equal(isControlOf(resolveConfig({ preset: 'tiny-no-discriminator' }), run), true);
    assert.equal(isControlOf(resolveConfig({}), run), false);
    assert.equal(isControlOf(resolveConfig({ preset: 'tiny-no-discriminator', testsPerTurn: 5 }), run), false);
    assert.equal(isControlOf(run, resolveConfig({ preset: 'tiny-no-discriminator' })), false);
  });

  it('the shipped control has the configuration of the tiny preset without a discriminator', async () => {
    const control = controlSchema.parse(JSON.parse(await readFile(controlPath(), 'utf8')));
    const { preset: _of, discriminator, ...fields } = control.config;
    const { preset: _today, discriminator: adversary, ...today } = resolveConfig({ preset: 'tiny' });
    assert.deepEqual(fields, today);
    assert.deepEqual([discriminator.enabled, adversary.enabled], [false, true]);
    assert.ok(control.points.length > 10 && control.command.includes('tiny-no-discriminator'));
    assert.ok(control.after!.passRate! < 0.8, 'without an adversary hidden correctness hardly moves');
  });
});

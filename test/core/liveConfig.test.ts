import assert from 'node:assert/strict';
import { applyConfigPatch, fieldsText, LIVE_FIELDS, withRecordedChanges } from '../../core/config/liveConfig.js';
import { resolveConfig } from '../../core/config/presets.js';
import { runIdentity } from '../../core/schema/config.js';
import type { ControlMetrics } from '../../core/schema/metrics.js';

const config = resolveConfig({});

describe('applyConfigPatch', () => {
  it('sets the fields of the change and keeps all others', () => {
    const changed = applyConfigPatch(config, { ppo: { learningRate: 1e-4 }, schedule: { generatorSteps: 7 } });
    assert.equal(changed.ppo.learningRate, 1e-4);
    assert.equal(changed.schedule.generatorSteps, 7);
    const { ppo, schedule } = config;
    const back = { ppo: { learningRate: ppo.learningRate }, schedule: { generatorSteps: schedule.generatorSteps } };
    assert.deepEqual(applyConfigPatch(changed, back), config);
  });

  it('keeps the other fields of a configuration that differs from its preset', () => {
    const custom = resolveConfig({ preset: 'custom', seed: 9, lora: { rank: 4 } });
    assert.deepEqual(applyConfigPatch(custom, { credit: 'suffix' }), { ...custom, credit: 'suffix' });
  });

  it('refuses fields that cannot change during a run, and lists those that can', () => {
    for (const fields of [
      { seed: 2 },
      { lora: { rank: 4 } },
      { schedule: { stages: [5] } },
      { sampling: { topP: 1 } },
    ]) {
      assert.throws(() => applyConfigPatch(config, fields), {
        code: 'BAD_CONFIG',
        message: /^[\w.]+: cannot change during a run/,
      });
    }
    assert.throws(() => applyConfigPatch(config, { model: 'x' }), { message: new RegExp(LIVE_FIELDS.join(', ')) });
    assert.throws(() => applyConfigPatch(config, {}), { code: 'BAD_CONFIG', message: /names no field/ });
  });

  it('refuses a bad value and names its field', () => {
    assert.throws(() => applyConfigPatch(config, { ppo: { learningRate: -1 } }), {
      code: 'BAD_CONFIG',
      message: /^ppo\.learningRate: /,
    });
    assert.throws(() => applyConfigPatch(config, { sampling: { temperature: null } }), {
      message: /^sampling\.temperature: must be a number/,
    });
    assert.throws(() => applyConfigPatch(config, { ppo: { rate: 1 } }), { message: /ppo\.rate: no such field/ });
  });

  it('refuses a long or deep change in one short line, whatever its fields are', () => {
    const long = 'x'.repeat(9_000);
    for (const fields of [{ [long]: 1 }, { ppo: { [long]: 1 } }, { ppo: { learningRate: long } }, nested(300)]) {
      assert.throws(() => applyConfigPatch(config, fields), {
        code: 'BAD_CONFIG',
        message: /^a change can have at most .{0,80}$/,
      });
    }
  });

  it('refuses minibatches for which the history of a step has no room', () => {
    const config = resolveConfig({ engine: { shards: 64 } });
    assert.throws(() => applyConfigPatch(config, { ppo: { minibatch: 2 } }), {
      code: 'BAD_CONFIG',
      message: /^engine\.shards: 64 shards of 128 minibatches .* more than 5000: lower it, or raise ppo\.minibatch$/,
    });
  });

  it('refuses a change that is not an object', () => {
    for (const fields of [null, [], 'faster']) {
      assert.throws(() => applyConfigPatch(config, fields), { code: 'BAD_CONFIG', message: /object of fields/ });
    }
  });

  it('accepts a change of all live fields at once', () => {
    const all = Object.fromEntries(
      LIVE_FIELDS.map((name) => name.split('.')[0]!).map((name) => [name, config[name as 'ppo']]),
    );
    const { discriminatorSteps, generatorSteps, alternatingSteps } = config.schedule;
    const schedule = { discriminatorSteps, generatorSteps, alternatingSteps };
    assert.deepEqual(applyConfigPatch(config, { ...all, schedule, sampling: { temperature: 1 } }).ppo, config.ppo);
  });

  it('refuses `__proto__` as a field', () => {
    const fields = JSON.parse('{"ppo": {"learningRate": 0.5, "__proto__": {"clip": 1}}}') as Record<string, unknown>;
    assert.throws(() => applyConfigPatch(config, fields), { message: /^ppo\.__proto__\.clip: cannot change/ });
  });

  it('keeps the identity of the run if only budgets or failure settings change', () => {
    const changed = applyConfigPatch(config, { budget: { tokens: 5 }, failure: { onFailure: 'fail' } });
    assert.deepEqual(runIdentity(changed), runIdentity(config));
    const other = applyConfigPatch(config, { reward: { scheme: 'code-a1' } });
    assert.notDeepEqual(runIdentity(other), runIdentity(config));
  });
});

describe('withRecordedChanges', () => {
  it('applies the recorded changes in order and ignores other records', () => {
    const record = (action: ControlMetrics['action'], learningRate?: number): ControlMetrics => ({
      kind: 'control',
      step: 1,
      index: 0,
      stage: 5,
      next: 1,
      at: '2026-01-01',
      action,
      ...(learningRate !== undefined && { fields: { ppo: { learningRate } } }),
    });
    const records = [record('change', 0.1), record('pause'), record('change', 0.2)];
    assert.equal(withRecordedChanges(config, records).ppo.learningRate, 0.2);
    assert.equal(withRecordedChanges(config), config);
  });
});

describe('fieldsText', () => {
  it('writes changed fields as users enter them', () => {
    assert.equal(
      fieldsText({ ppo: { learningRate: 0.1, clip: 1 }, credit: 'suffix' }),
      'ppo.learningRate=0.1 ppo.clip=1 credit="suffix"',
    );
  });
});

/** An object that is nested to this depth. */
const nested = (levels: number): object => JSON.parse(`${'{"ppo":'.repeat(levels)}1${'}'.repeat(levels)}`) as object;

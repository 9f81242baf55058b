import assert from 'node:assert/strict';
import {
  add,
  changed,
  checkChange,
  exceeded,
  isControl,
  isPaused,
  LIVE_FIELDS,
  NOTHING_SPENT,
  type Request,
  requestsAmong,
} from '../../core/control.js';
import { resolveConfig } from '../../core/presets.js';
import { runIdentity } from '../../core/schema/config.js';

const config = resolveConfig({});
const at = '2026-01-01T00:00:00.000Z';

describe('a change of a run that goes on', () => {
  it('sets the fields it names and leaves all others', () => {
    const after = changed(config, { ppo: { learningRate: 1e-4 }, schedule: { generatorSteps: 7 } });
    assert.equal(after.ppo.learningRate, 1e-4);
    assert.equal(after.schedule.generatorSteps, 7);
    const back = changed(after, {
      ppo: { learningRate: config.ppo.learningRate },
      schedule: { generatorSteps: config.schedule.generatorSteps },
    });
    assert.deepEqual(back, config);
  });

  it('of a run with another configuration than a preset keeps that configuration', () => {
    const own = resolveConfig({ preset: 'custom', seed: 9, lora: { rank: 4 } });
    assert.deepEqual(changed(own, { credit: 'suffix' }), { ...own, credit: 'suffix' });
  });

  it('refuses fields that would make another run, by name and with those that may change', () => {
    for (const fields of [
      { seed: 2 },
      { lora: { rank: 4 } },
      { schedule: { stages: [5] } },
      { sampling: { topP: 1 } },
    ]) {
      assert.throws(() => changed(config, fields), {
        code: 'BAD_CONFIG',
        message: /cannot change while a run goes on/,
      });
    }
    assert.throws(() => changed(config, { model: 'x' }), { message: new RegExp(LIVE_FIELDS.join(', ')) });
    assert.throws(() => changed(config, {}), { code: 'BAD_CONFIG', message: /names no field/ });
  });

  it('refuses to add or remove the value head of GAE, and allows other estimators', () => {
    const gae = resolveConfig({ advantage: { estimator: 'gae' } });
    assert.throws(() => checkChange(config, { advantage: { estimator: 'gae' } }), {
      code: 'BAD_CONFIG',
      message:
        'advantage.estimator: cannot change to gae in an existing run: its adapters have no value head; start a new run',
    });
    assert.throws(() => checkChange(gae, { advantage: { estimator: 'batch' } }), {
      message: /^advantage\.estimator: cannot change from gae .* have a value head/,
    });
    assert.equal(changed(config, { advantage: { estimator: 'batch' } }).advantage.estimator, 'batch');
    assert.equal(changed(gae, { advantage: { lambda: 0.5, estimator: 'gae' } }).advantage.lambda, 0.5);
  });

  it('refuses a bad value by the name of its field', () => {
    assert.throws(() => changed(config, { ppo: { learningRate: -1 } }), {
      code: 'BAD_CONFIG',
      message: /^ppo\.learningRate: /,
    });
    assert.throws(() => changed(config, { ppo: { rate: 1 } }), { message: /ppo\.rate: no such field/ });
  });

  it('of a size that no run would carry along is refused in one short line, before its names are looked at', () => {
    const long = 'x'.repeat(9_000);
    for (const fields of [{ [long]: 1 }, { ppo: { [long]: 1 } }, { ppo: { learningRate: long } }, nested(300)]) {
      assert.throws(() => checkChange(config, fields), {
        code: 'BAD_CONFIG',
        message: /^a change is at most .{0,80}$/,
      });
    }
    for (const fields of [null, [], 'faster']) {
      assert.throws(() => checkChange(config, fields), { code: 'BAD_CONFIG', message: /object of fields/ });
    }
    assert.throws(() => checkChange(config, { seed: 2 }), { message: /^seed: cannot change/ });
    const all = Object.fromEntries(
      LIVE_FIELDS.map((name) => name.split('.')[0]!).map((name) => [name, config[name as 'ppo']]),
    );
    const { stages: _, ...schedule } = config.schedule;
    checkChange(config, { ...all, schedule, sampling: { temperature: 1 } }); // everything that may change, at once
  });

  it('has no field that objects have of themselves', () => {
    const fields = JSON.parse('{"ppo": {"learningRate": 0.5, "__proto__": {"clip": 1}}}') as Record<string, unknown>;
    assert.throws(() => changed(config, fields), { message: /^ppo\.__proto__\.clip: cannot change/ });
  });

  it('of budgets and of what a failure does changes no key of what is computed', () => {
    const after = changed(config, { budget: { tokens: 5 }, failure: { onFailure: 'fail' } });
    assert.deepEqual(runIdentity(after), runIdentity(config));
    assert.notDeepEqual(runIdentity(changed(config, { reward: { weights: { caught: 1 } } })), runIdentity(config));
  });
});

describe('a signal with requests', () => {
  const stop: Request = { kind: 'stop', at, after: 3 };
  const faster: Request = { kind: 'change', fields: { ppo: { learningRate: 0.5 } }, at };

  it('brings those that can be done, whatever stands beside them', () => {
    const given = [
      ...[null, 'stop', stop, { kind: 'stop' }, { kind: 'change', fields: null, at }, faster],
      ...[
        { kind: 'change', fields: { seed: 3 }, at },
        { kind: 'change', fields: { ppo: { clip: 'x' } }, at },
      ],
    ];
    assert.deepEqual(requestsAmong(given), [stop, faster]);
    for (const other of [undefined, null, {}, 'stop', { length: 2 }]) assert.deepEqual(requestsAmong(other), []);
  });

  it('of a run to its stage is one where every part of it is', () => {
    assert.ok(isControl({ requests: [stop, faster], decisions: ['retry'] }));
    for (const other of [
      ...[undefined, null, [], {}, { requests: [stop] }, { requests: [null], decisions: [] }],
      ...[
        { requests: {}, decisions: [] },
        { requests: [], decisions: ['perhaps'] },
      ],
    ]) {
      assert.equal(isControl(other), false);
    }
  });
});

describe('a pause', () => {
  const request = (kind: 'pause' | 'resume' | 'stop'): Request => ({ kind, at });
  it('holds until the latest word is to go on', () => {
    assert.equal(isPaused([]), false);
    assert.equal(isPaused([request('pause')]), true);
    assert.equal(isPaused([request('pause'), request('stop')]), true);
    assert.equal(isPaused([request('pause'), request('resume')]), false);
    assert.equal(isPaused([request('pause'), request('resume'), request('pause')]), true);
  });
});

describe('a budget', () => {
  const budget = { tokens: 100, seconds: null, executions: 10 };
  const spent = { tokens: 60, seconds: 1e9, executions: 4 };
  it('holds while the next step fits into what is left', () => {
    assert.equal(exceeded(budget, spent, { tokens: 40, seconds: 5, executions: 6 }), undefined);
  });
  it('names the one that the next step would pass', () => {
    assert.match(exceeded(budget, spent, { tokens: 41, seconds: 5, executions: 6 })!, /100 tokens \(60 spent\)/);
    assert.match(exceeded(budget, spent, { tokens: 1, seconds: 5, executions: 7 })!, /10 executions/);
  });
  it('that is used up ends a run whatever comes next', () => {
    assert.match(exceeded({ ...budget, executions: 4 }, spent, NOTHING_SPENT)!, /4 executions/);
  });
  it('counts what was spent in all', () => {
    assert.deepEqual(add(spent, { tokens: 1, seconds: 1, executions: 1 }), {
      tokens: 61,
      seconds: 1e9 + 1,
      executions: 5,
    });
  });
});

/** Of so many levels. */
const nested = (levels: number): object => JSON.parse(`${'{"ppo":'.repeat(levels)}1${'}'.repeat(levels)}`) as object;

// Commands on what lies in a store: checkpoints, reports, tables and chains for people.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { chainText } from '../../cli/chainText.js';
import { describeError, duration, percent } from '../../cli/output.js';
import { resultTable } from '../../cli/results.js';
import { GauntletError } from '../../core/errors.js';
import { resolveConfig } from '../../core/presets.js';
import { readResult } from '../../store/runs.js';
import { controlOf, gatherReport, isControlOf } from '../../workers/report.js';
import { inProcess, madeRun, RESULT, removeFolders, VIEW } from './support.js';

const rowsOf = (text: string): string[][] =>
  stripVTControlCharacters(text)
    .split('\n')
    .filter((line) => line.startsWith('│'))
    .map((line) =>
      line
        .split('│')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

describe('gauntlet checkpoints', () => {
  let folder: string;
  let store: Awaited<ReturnType<typeof madeRun>>['store'];
  before(async () => {
    ({ folder, store } = await madeRun());
  });
  after(removeFolders);

  const checkpoints = (...argv: string[]) => inProcess('checkpoints', ...argv, '--store', folder);

  it('list shows them in the order of training', async () => {
    const { out } = await checkpoints('list');
    assert.deepEqual(rowsOf(out).slice(1), [
      ['checkpoint_stage_0_epoch_0', '0', '0.100', '70.0 %', '72.0 %', '60.0 %'],
      ['checkpoint_stage_1_epoch_1', '4', '0.400', '70.0 %', '72.0 %', '60.0 %'],
    ]);
    const json = JSON.parse((await checkpoints('list', '--json')).out) as { name: string }[];
    assert.deepEqual(
      json.map(({ name }) => name),
      ['checkpoint_stage_0_epoch_0', 'checkpoint_stage_1_epoch_1'],
    );
  });

  it('best and latest name a folder with adapters', async () => {
    for (const which of ['best', 'latest']) {
      const { name, folder: at } = JSON.parse((await checkpoints(which, '--json')).out) as {
        name: string;
        folder: string;
      };
      assert.equal(name, 'checkpoint_stage_1_epoch_1');
      assert.ok(existsSync(join(at, 'generator', 'adapter_model.safetensors')));
    }
    assert.match((await checkpoints('best')).out, /^checkpoint_stage_1_epoch_1 {2}score 0\.400\n\//);
  });

  it('verify passes whole ones, and names a damaged file with exit code 1', async () => {
    const whole = await checkpoints('verify');
    assert.equal(whole.code, 0);
    assert.match(whole.out, /✓ checkpoint_best\n[\s\S]*all checkpoints are whole/);
    await store.writeRunFile('made', 'checkpoints/checkpoint_stage_0_epoch_0/pool.json', 'damaged');
    const damaged = await checkpoints('verify');
    assert.equal(damaged.code, 1);
    assert.match(damaged.out, /✗ checkpoint_stage_0_epoch_0\n {4}pool\.json is damaged[\s\S]*1 damaged/);
    const json = await checkpoints('verify', '--json');
    assert.equal(json.code, 1);
    assert.equal(json.out.trim().split('\n').length, 1);
  });

  it('asks which run is meant where there are several', async () => {
    const { writeRunFile } = store;
    await writeRunFile.call(store, 'other', 'manifest.json', '{}');
    const { code, err } = await checkpoints('list');
    assert.equal(code, 1);
    assert.match(err, /2 runs in .*; choose one with --run: made, other/);
    assert.equal((await checkpoints('list', '--run', 'made')).code, 0);
  });
});

describe('gauntlet report', () => {
  after(removeFolders);

  it('writes the page from the records of the run', async () => {
    const { folder } = await madeRun();
    const { code, out } = await inProcess('report', '--store', folder);
    assert.equal(code, 0);
    assert.equal(out.trim(), join(folder, 'runs', 'made', 'report.html'));
    const page = readFileSync(out.trim(), 'utf8');
    for (const part of ['92.5 %', 'def add(a, b): return a - b', 'checkpoint_stage_1_epoch_1'])
      assert.ok(page.includes(part), part);
  });

  it('gathers result, chain, metrics and checkpoints', async () => {
    const { store } = await madeRun();
    const data = await gatherReport(store, 'made');
    assert.deepEqual(data.result, { ...RESULT, runId: 'made' });
    assert.deepEqual(data.chain, { view: VIEW, by: RESULT.best });
    assert.deepEqual([data.metrics.length, data.checkpoints.length], [2, 2]);
  });

  it('refuses a damaged result by name', async () => {
    const { store } = await madeRun();
    await store.writeRunFile('made', 'result.json', '{}');
    await assert.rejects(readResult(store, 'made'), /result\.json of run made is damaged/);
  });

  it('takes a run without a discriminator as control, of runs equal to it but for that', async () => {
    const { store } = await madeRun('control', 'tiny-no-discriminator');
    const control = await controlOf(store, 'control', 'the command');
    assert.deepEqual(
      control.points.map(({ step }) => step),
      [0, 4],
    );
    assert.equal(control.digest, RESULT.digests.generator);
    assert.ok(isControlOf(control.config, resolveConfig({ preset: 'tiny', seed: 2 })));
    assert.ok(!isControlOf(control.config, resolveConfig({ preset: 'tiny', credit: 'stage', ppo: { clip: 0.1 } })));
    assert.ok(!isControlOf(control.config, control.config));
    await assert.rejects(controlOf((await madeRun()).store, 'made', 'x'), /run made has a discriminator/);
  });
});

describe('results for people', () => {
  it('the table has before, after and change of all four rates', () => {
    const text = resultTable(RESULT);
    assert.deepEqual(rowsOf(text), [
      ['held-out problems', 'before', 'after', 'change'],
      ['pass rate (sampled)', '70.0 %', '92.5 %', '+22.5 points'],
      ['pass rate (greedy)', '72.0 %', '95.0 %', '+23.0 points'],
      ['test validity', '60.0 %', '80.0 %', '+20.0 points'],
      ['bug-catch rate', '10.0 %', '30.0 %', '+20.0 points'],
    ]);
    assert.match(text, /best checkpoint checkpoint_stage_1_epoch_1 · training took 4 min 31 s · seed 0$/);
    for (const line of text.split('\n')) assert.ok(stripVTControlCharacters(line).length < 80, line);
  });

  it('a chain is shown with every answer, test, verdict and reward', () => {
    assert.equal(
      stripVTControlCharacters(chainText(VIEW)),
      `problem add-two
Return the sum of a and b.
def add(a, b):

stage 1 · informal reasoning
  add
  them
  tests of the discriminator (reward 0.25):
    add(1, 2) == 3  pass
    add(1, 2) == 4  invalid: the reference disagrees
    1 unreadable

stage 5 · executable code
  def add(a, b): return a - b
  tests of the discriminator (reward 0.50):
    add(0, 1) == 1  fail

baseline tests
    add(0, 0) == 0  pass
generator reward -0.10`,
    );
  });

  it('a failure is one line with its code, the innermost cause of many', () => {
    const inner = Object.assign(new Error('the model is gone\nstack'), { type: 'BAD_MODEL' });
    assert.equal(
      describeError(new Error('outer', { cause: new Error('middle', { cause: inner }) })),
      'the model is gone [BAD_MODEL]',
    );
    assert.equal(describeError(new GauntletError('BAD_INPUT', 'line', { cause: inner })), 'line [BAD_INPUT]');
    assert.equal(describeError('text'), 'text');
    process.env.GAUNTLET_DEBUG = '1';
    assert.match(describeError(inner), /\n\s+at /);
    delete process.env.GAUNTLET_DEBUG;
  });

  it('times and rates are rounded for reading', () => {
    assert.deepEqual([duration(59.4), duration(125), duration(Number.NaN)], ['59 s', '2 min 05 s', '–']);
    assert.deepEqual([percent(0.12345), percent(undefined)], ['12.3 %', '–']);
  });
});

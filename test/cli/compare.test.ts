// `gauntlet compare`: means over seeds and differences between settings, from the results in a store.
import assert from 'node:assert/strict';
import { stripVTControlCharacters } from 'node:util';
import { resolveConfig } from '../../core/config/presets.js';
import { openStore } from '../../store/openStore.js';
import { createRun, writeResult } from '../../store/runs.js';
import { inProcess, RESULT, removeFolders, temporaryFolder } from './support.js';

describe('gauntlet compare', () => {
  let folder: string;
  const compare = (...argv: string[]) => inProcess('compare', ...argv, '--store', folder);
  const shown = async (...argv: string[]): Promise<string> => stripVTControlCharacters((await compare(...argv)).out);

  before(async () => {
    folder = await temporaryFolder();
    const store = await openStore(folder);
    const dataDigest = await store.putJson({});
    const facts = { modelDigest: 'model', dataDigest, codeVersion: '0.4.0' };
    const train = async (
      runId: string,
      seed: number,
      rates?: [number, number?],
      learningRate = 0.001,
      data = dataDigest,
    ) => {
      const config = resolveConfig({ seed, ppo: { learningRate } });
      await createRun(store, runId, { ...facts, dataDigest: data, config });
      const [passRate, testValidity] = rates ?? [0];
      const after = { passRate, greedyPassRate: passRate, testValidity };
      if (rates) await writeResult(store, runId, { ...RESULT, runId, seed, after });
    };
    for (const [i, rate] of [0.5, 0.6, 0.7].entries()) await train(`plain-${i}`, i, [rate, i === 2 ? undefined : 0.8]);
    for (const [i, rate] of [0.6, 0.8, 1].entries()) await train(`bold-${i}`, i, [rate], 0.003);
    await train('again-1', 1, [0.6]);
    await train('going', 3);
    await train('late', 9, [0.6]);
    await train('elsewhere', 4, [0.6], 0.001, await store.putJson([]));
  });
  after(removeFolders);

  it('prints mean and interval over the runs of one setting', async () => {
    const out = await shown('plain-0', 'plain-1', 'plain-2');
    assert.match(out, /│ pass rate \(sampled\) │ 3 │ 60\.0 ± 24\.8 % +│/); // 4.3027 · 0.1 / √3
    assert.match(out, /│ test validity +│ 2 │ 80\.0 % +│/);
    assert.ok(!out.includes('n = 1'));
    const { metrics } = JSON.parse((await compare('plain-0', 'plain-1', 'plain-2', '--json')).out);
    assert.deepEqual([metrics[0].metric, metrics[0].mean.count], ['passRate', 3]);
    assert.ok(Math.abs(metrics[0].mean.half - 0.24841) < 1e-5);
  });

  it('prints the difference between two settings, paired by seed in any order', async () => {
    const { err } = await compare('bold-0', '--against', 'plain-0');
    assert.equal(err, 'the settings differ in: ppo\n');
    const out = await shown('bold-2', 'bold-0', 'bold-1', '--against', 'plain-0', 'plain-1', 'plain-2');
    assert.match(
      out,
      /│ 3 │ 80\.0 ± 49\.7 % │ 3 │ 60\.0 ± 24\.8 % │ 3 +│ \+20\.0 ± 24\.8 points \(within the noise\) │/,
    );
    assert.match(out, /│ test validity +│ 0 │ – +│ 2 │ 80\.0 % +│ 0 +│ – /);
  });

  it('says that one run shows nothing about other seeds', async () => {
    const caution = /n = 1: nothing can be said about other seeds\n$/;
    const alone = await shown('plain-0');
    assert.match(alone, caution);
    assert.match(alone, /│ 1 │ 50\.0 % │/);
    const pair = await shown('bold-0', '--against', 'plain-0', 'plain-1');
    assert.match(pair, caution);
    assert.match(pair, /│ 1 +│ \+10\.0 points +│/);
  });

  for (const [argv, message] of [
    ['plain-0 bold-1', /run 'bold-1' differs from 'plain-0' in: ppo \[BAD_INPUT\]/],
    ['plain-0 elsewhere', /run 'elsewhere' differs from 'plain-0' in: problems \[BAD_INPUT\]/],
    ['plain-0 plain-1 again-1', /run 'again-1' has the seed of another run \(1\): name one of them \[BAD_INPUT\]/],
    [
      'plain-0 going',
      /run 'going' has not ended; if it does not run, continue it with: .*resume going --watch.* \[BAD_INPUT\]/,
    ],
    ['plain-0 none', /no run 'none' in .*; there are: .*plain-0/],
    ['plain-0 --against late', /--against: the two settings have no seed in common.* \[BAD_INPUT\]/],
  ] as const)
    it(`refuses in one line: ${argv}`, async () => {
      const { code, out, err } = await compare(...argv.split(' '));
      assert.ok(code !== 0 && out === '');
      assert.match(err, message);
      assert.equal(err.trim().split('\n').length, 1, err);
    });
});

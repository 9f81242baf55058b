// The capacity simulation, against values computed by hand, and its parts against measurements.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { SHAPES } from '../../bench/shapes.js';
import { compare, lengthsOf, readRunFigures } from '../../bench/simulate/against.js';
import { simulate } from '../../bench/simulate/main.js';
import { MODELS, type Parts, recordedParts, sizeOf, trainOperations } from '../../bench/simulate/parts.js';
import { type Lengths, type Prediction, predict, type Setting, sampledTokens } from '../../bench/simulate/simulate.js';
import { resolveConfig } from '../../core/presets.js';
import { openStore } from '../../store/openStore.js';
import { createRun, writeMetrics } from '../../store/runs.js';
import { removeTemporaryFolders, temporaryFolder, writeInto } from '../infra/support.js';
import { fakeDigest, sampleData } from '../support/sample.js';

const part = (value: number) => ({ value, source: 'test' });
/** Every token costs one second to read, to write, to score and to train, and as long again for the weights of a batch. */
const SIZE = { layers: 20e6, head: 20e6, adapter: 1000, rowsOfPart: () => 1 };
const PARTS: Parts = {
  readOperations: part(2 * 20e6),
  writeOperations: part(2 * 40e6),
  weightBytes: part(4 * 40e6),
  scoreOperations: part(2 * 40e6),
  trainOperations: part(4 * 40e6),
  activitySeconds: part(10),
  programs: part(1),
  storeBytes: part(4000), // an adapter per second
  eventsPerActivity: part(7),
  bytesPerEvent: part(300),
};
const LENGTHS: Lengths = { trained: 1, opening: 10, continuation: 5, answer: 3, testPrompt: 7, test: 2 };
const SMALL = {
  stages: [4, 5],
  schedule: { stages: [5], discriminatorSteps: 0, generatorSteps: 1, alternatingSteps: 0 },
  batch: { generator: { problems: 2, samples: 2 }, discriminator: { problems: 1, samples: 2 } },
  ppo: { epochs: 1, minibatch: 4 },
  evaluation: { problems: 2 },
  testTurns: 1,
};
const ALONE = resolveConfig({ preset: 'tiny', ...SMALL, discriminator: { enabled: false } });
const setting = (more: Partial<Setting>): Setting => ({
  config: ALONE,
  size: SIZE,
  parts: PARTS,
  lengths: LENGTHS,
  workers: 1,
  bytesPerWeight: 4,
  pricePerHour: 2,
  ...more,
});
const secondsOf = ({ phases }: Prediction) => Object.fromEntries(phases.map(({ name, seconds }) => [name, seconds]));

describe('npm run simulate', () => {
  after(removeTemporaryFolders);

  it('adds up the phases of a step on one worker', () => {
    const one = predict(setting({}));
    assert.deepEqual(secondsOf(one), {
      'sample chains': 4 * (10 + 5) + 2 * 3 * (1 + 4) + 10,
      judge: 4 + 2 + 10,
      score: 4 * 21,
      gradients: 4 * 21,
      record: 10,
      evaluate: 2 * (10 + 5) + 2 * 3 * (1 + 2),
    });
    assert.equal(one.seconds, 342);
    assert.ok(Math.abs(one.idle - (1 - (90 + 84 + 84 + 48) / 342)) < 1e-12, `${one.idle}`);
    assert.deepEqual([one.speedup, one.steps, one.events, one.historyBytes], [1, 1, 4 * 7, 4 * 7 * 300]);
    assert.ok(Math.abs(one.cost - (2 * 342) / 3600) < 1e-12);
  });

  it('divides rows among workers, and adds what they exchange', () => {
    const two = predict(setting({ workers: 2 }));
    assert.deepEqual(secondsOf(two), {
      'sample chains': 2 * (10 + 5) + 2 * 3 * (1 + 2) + 2 * 10,
      judge: 4 + 2 + 10,
      rewards: 10,
      score: 2 * 21 + 2 * 10,
      gradients: 3 + 2 * 21 + 2 + 10, // reads the state, writes the gradients of two rows
      reduce: 4 + 3 + 3 + 10, // reads the gradients of four rows and the state, writes the state
      record: 2 * 10,
      evaluate: 15 + 2 * 3 * (1 + 1) + 2 * 10,
    });
    assert.equal(two.seconds, 300);
    assert.equal(two.speedup, 342 / 300);
    assert.ok(Math.abs(two.idle - (1 - (96 + 84 + 84 + 54) / 600)) < 1e-12, `${two.idle}`);
    assert.equal(two.events, 7 * (3 + 1 + 1 + 3 + 2 + 1 + 2 + 4));
  });

  it('uses no more workers than a batch has shards', () => {
    const [many, more] = [64, 512].map((workers) => predict(setting({ workers })));
    assert.equal(more!.seconds, many!.seconds);
    assert.ok(more!.idle > many!.idle);
    assert.equal(predict(setting({ workers: 4 })).seconds, predict(setting({ workers: 8 })).seconds); // four rows
  });

  it('lets fewer workers than shards compute them in rounds', () => {
    const one = predict(setting({ shards: 2 }));
    assert.deepEqual(secondsOf(one), {
      'sample chains': 2 * (2 * (10 + 5) + 2 * 3 * (1 + 2)) + 3 * 10, // two shards, and the activity that joins them
      judge: 4 + 2 + 10,
      rewards: 10,
      score: 2 * 2 * 21 + 3 * 10,
      gradients: 2 * (3 + 2 * 21 + 2 + 10),
      reduce: 4 + 3 + 3 + 10,
      record: 2 * 10,
      evaluate: 2 * (15 + 2 * 3 * (1 + 1)) + 3 * 10,
    });
    assert.equal(one.speedup, 342 / one.seconds); // against one worker that shares nothing
    const [two, three] = [2, 3].map((workers) => predict(setting({ workers, shards: 4 })).seconds);
    assert.equal(two, three); // both need two rounds
  });

  it('weights the roles by the schedule', () => {
    const config = resolveConfig({ preset: 'tiny', ...SMALL });
    const schedule = { ...config.schedule, discriminatorSteps: 1 };
    const roles = [
      { ...config, schedule: { ...schedule, generatorSteps: 0 } },
      { ...config, schedule: { ...schedule, discriminatorSteps: 0 } },
      { ...config, schedule },
    ].map((each) => predict(setting({ config: each })));
    assert.ok(Math.abs((roles[0]!.seconds + roles[1]!.seconds) / 2 - roles[2]!.seconds) < 1e-9);
    // two chains, two tests, the programs of two chains, then of one chain and the reference
    assert.equal(secondsOf(roles[0]!)['sample tests'], 2 * 7 + 2 * (1 + 2) + 10);
    assert.equal(secondsOf(roles[0]!)['select chains'], 2 + 10);
    assert.equal(sampledTokens(config, LENGTHS), 2 * 2 * 2 * 3 + 2 * 2 * 2);
  });

  it('says when the history of a step is too long', () => {
    const config = { ...ALONE, ppo: { ...ALONE.ppo, minibatch: 1, epochs: 64 } };
    assert.equal(predict(setting({ config, workers: 1 })).exceedsHistory, false);
    assert.equal(predict(setting({ config, workers: 64 })).exceedsHistory, true);
  });

  it('knows the size of a published model', () => {
    const { layers, head } = sizeOf(MODELS['7B']!);
    assert.ok(Math.abs(layers + 2 * head - 7.61e9) < 0.02e9, `${layers + 2 * head}`); // 7.61 billion, with both embeddings
  });

  it('scales a measured rate to another model within 15 %', () => {
    const { trainOperations: rate } = recordedParts('7B');
    assert.match(rate.source, /^scaled from 0\.5b-6l: .*train 0\.5b-6l 1x256$/);
    const predicted = (256 * trainOperations(sizeOf(SHAPES['1.5b-2l']))) / rate.value;
    assert.ok(
      Math.abs(predicted / 1.591 - 1) < 0.15,
      `${predicted} s; bench/results.json: train 1.5b-2l 1x256, 1.591 s`,
    );
  });

  it('says what is measured, and replaces it by own measurements', async () => {
    assert.match(recordedParts('tiny').trainOperations.source, /^measured: .*train embedded 128x120$/);
    const folder = temporaryFolder();
    const file = writeInto(folder, 'a100.json', '{"trainOperations": {"value": 1e14, "source": "our A100"}}');
    const args = ['--workers', '8', '--measured', file];
    assert.match(await simulate(args), /\| trainOperations \| 1\.00e\+14 \| our A100 \|/);
    const { predictions } = JSON.parse(await simulate([...args, '--json'])) as { predictions: Prediction[] };
    assert.deepEqual(
      predictions.map(({ workers, shards }) => [workers, shards]),
      [[8, 8]],
    );
    writeInto(folder, 'a100.json', '{"trainOperations": 1e14}');
    await assert.rejects(simulate(args), /--measured .*a100\.json: trainOperations: /);
    await assert.rejects(simulate(['--model', '3B']), /--model 3B: known are tiny, /);
    await assert.rejects(simulate(['--workers', '0']), /--workers/);
  });

  it('compares with the records of a run, scaled to what it sampled and trained', async () => {
    const { config, metrics } = sampleData();
    const url = join(temporaryFolder(), 'store');
    const store = await openStore(url);
    const digests = { modelDigest: fakeDigest('b'), dataDigest: fakeDigest('c') };
    await createRun(store, 'first', { ...digests, config, codeVersion: '1' });
    const steps = metrics.flatMap((record) => (record.kind === 'step' ? [record] : []));
    for (const record of steps) await writeMetrics(store, 'first', record.step, record);
    const run = await readRunFigures(url, 'first');
    assert.equal(run.steps, steps.length);
    assert.ok(Math.abs(run.seconds - steps.reduce((sum, { seconds }) => sum + seconds, 0) / steps.length) < 1e-9);
    const lengths = lengthsOf(run, LENGTHS);
    assert.ok(Math.abs(sampledTokens(run.config, lengths) - run.sampledTokens) < 1e-6);
    const measured = { ...run, config: ALONE, seconds: 132 };
    // without the evaluation, and without what lies between activities
    assert.deepEqual(compare(measured, setting({})), { steps: run.steps, predicted: 264, measured: 132, ratio: 2 });
    assert.equal(90 + 6 + 84 + 84, 264);
    const shared = { ...measured, config: { ...ALONE, engine: { ...ALONE.engine, shards: 2 } } };
    assert.equal(compare(shared, setting({})).predicted, 48 + 6 + 42 + 47 + 10);
    assert.match(
      await simulate(['--against', 'first', '--store', url, '--model', 'tiny']),
      new RegExp(`measured in ${steps.length} steps \\(ratio [\\d.]+\\)\\.$`),
    );
  });
});

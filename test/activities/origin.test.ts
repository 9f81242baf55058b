// Runs that begin at a checkpoint of another run: forks continue like their origin, scheduled runs start from the best run.
import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { seeded } from '../../chains/run/prepareRun.js';
import { scheduledInput } from '../../cli/commands/schedule.js';
import { forkInput } from '../../cli/run/forking.js';
import { resolveConfig } from '../../core/config/presets.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import type { Problem } from '../../core/schema/problem.js';
import type { Activities } from '../../method/activities.js';
import { commitCheckpoint, listCheckpoints, loadCheckpoint } from '../../store/checkpoints.js';
import { readMetrics, readRun } from '../../store/runs.js';
import { addProblem, type Doubles, memoryDoubles as doubles, problemSet, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

const RUN: RunConfigInput = {
  ...SMALL_RUN,
  schedule: { stages: [1, 5], discriminatorSteps: 1, generatorSteps: 2, alternatingSteps: 2 },
  batch: { generator: { problems: 3, samples: 2 }, discriminator: { problems: 2, samples: 2 } },
  evaluation: { problems: 2, testProblems: 2 },
};

describe('a run that starts from a checkpoint', () => {
  let world: Doubles;
  let acts: Activities;

  beforeEach(async () => {
    world = await doubles();
    acts = createActivities(world.deps);
  });

  const adapterOf = async (run: string, name: string): Promise<string | undefined> =>
    (await loadCheckpoint(world.deps.store, run, name)).metadata.files['generator/adapter_model.safetensors'];
  const steps = async (run: string): Promise<StepMetrics[]> =>
    (await readMetrics(world.deps.store, run)).filter((record) => record.kind === 'step');

  for (const where of ['stage_1_epoch_2', 'stage_1_epoch_4', 'stage_5_epoch_1', 'stage_0_epoch_0']) {
    it(`ends with the same bytes if it is forked at ${where} without a change`, async () => {
      await runPipeline(acts, 'run', RUN);
      const { input, name } = await forkInput(world.deps.store, { runId: 'run', name: `checkpoint_${where}` }, {});
      await runPipeline(acts, 'fork', input);
      assert.equal(await adapterOf('fork', 'latest'), await adapterOf('run', 'latest'));
      const { step } = (await loadCheckpoint(world.deps.store, 'run', name)).metadata;
      const timeless = (all: StepMetrics[]) => all.map((s) => ({ ...s, seconds: 0, tokensPerSecond: 0 }));
      assert.deepEqual(timeless(await steps('fork')), timeless((await steps('run')).filter((s) => s.step > step)));
      const { origin } = await readRun(world.deps.store, 'fork');
      assert.deepEqual([origin?.run, origin?.checkpoint], ['run', name]);
    });
  }

  for (const [where, fields] of [
    ['stage_1_epoch_2', { schedule: { alternatingSteps: 1 } }],
    ['stage_5_epoch_1', {}],
  ] as const) {
    it(`ends like the first fork if it is forked again at the first checkpoint of a fork from ${where}`, async () => {
      const { store } = world.deps;
      await runPipeline(acts, 'run', RUN);
      const { input } = await forkInput(store, { runId: 'run', name: `checkpoint_${where}` }, fields);
      await runPipeline(acts, 'fork', input);
      const again = await forkInput(store, { runId: 'fork', name: 'checkpoint_stage_0_epoch_0' }, {});
      await runPipeline(acts, 'again', again.input);
      const positions = async (run: string) => (await steps(run)).map((s) => [s.step, s.stage, s.phase, s.role]);
      assert.deepEqual(await positions('again'), await positions('fork'));
      assert.equal(await adapterOf('again', 'latest'), await adapterOf('fork', 'latest'));
    });
  }

  it('uses the same checkpoint in two concurrent attempts', async () => {
    await runPipeline(acts, 'night-1', RUN);
    const { store } = world.deps;
    const input = { ...RUN, seed: 3, start: { run: 'night-*', checkpoint: 'best' } };
    const first = await acts.prepareRun({ runId: 'run', input });
    const late: typeof store = Object.create(store); // the state that the second attempt sees: a better run, and no manifest yet
    let isThere = false;
    late.readRunFile = async (run, path) => (run === 'run' && !isThere ? undefined : store.readRunFile(run, path));
    late.createRunFile = (run, path, bytes) => {
      isThere = true;
      return store.createRunFile(run, path, bytes);
    };
    await runPipeline(acts, 'night-0', { ...RUN, seed: 2 });
    late.listRuns = async () => ['night-0'];
    const second = await createActivities({ ...world.deps, store: late }).prepareRun({ runId: 'run', input });
    assert.equal((await readRun(store, 'run')).origin?.run, 'night-1');
    assert.deepEqual([second.state, second.replayBuffer], [first.state, first.replayBuffer]);
  });

  it('skips damaged and incompatible checkpoints that match a pattern, and uses new adapters if none is left', async () => {
    const { store } = world.deps;
    const input = (seed: number) => ({ ...RUN, seed, start: { run: 'night-*', checkpoint: 'best' } });
    const prepared = (runId: string, seed: number) => acts.prepareRun({ runId, input: input(seed) });
    const raise = async (run: string): Promise<void> => {
      const { files, metadata } = await loadCheckpoint(store, run, 'best');
      const { name: _, runId, files: __, digest: ___, ...facts } = metadata;
      await commitCheckpoint(store, runId, { ...facts, score: 100 }, files);
    };
    await runPipeline(acts, 'night-other-1', { ...RUN, lora: { ...RUN.lora, rank: 4, alpha: 8 } });
    await raise('night-other-1');
    const warnings: string[] = [];
    world.deps.log = { info: () => {}, warn: (_, text) => void warnings.push(text) };
    await prepared('first', 1);
    assert.equal((await readRun(store, 'first')).origin, undefined);
    assert.match(warnings.join(), /^skipped: .*night-other-1 has lora.rank 4/);
    await runPipeline(acts, 'night-damaged', RUN);
    await store.writeRunFile('night-damaged', 'checkpoints/checkpoint_best', '{}');
    await runPipeline(acts, 'night-1', { ...RUN, seed: 2 });
    await prepared('second', 3);
    assert.equal((await readRun(store, 'second')).origin?.run, 'night-1');
  });

  it('keeps the settings that affect no result', async () => {
    const settings = {
      engine: { shards: 2, checkpointing: false },
      budget: { tokens: 1e9 },
      failure: { onFailure: 'fail' as const },
    };
    await runPipeline(acts, 'run', { ...RUN, ...settings });
    const from = { runId: 'run', name: 'best' };
    const { input } = await forkInput(world.deps.store, from, { engine: { checkpointing: true } });
    const { engine, budget, failure } = resolveConfig(input);
    assert.deepEqual([engine.shards, engine.checkpointing], [2, true]);
    assert.deepEqual([budget.tokens, failure.onFailure], [1e9, 'fail']);
  });

  it('differs from the original run if its configuration changes', async () => {
    await runPipeline(acts, 'run', RUN);
    const { input } = await forkInput(
      world.deps.store,
      { runId: 'run', name: 'checkpoint_stage_1_epoch_2' },
      {
        ppo: { learningRate: 0.3, warmupSteps: 0 },
        schedule: { alternatingSteps: 1 },
      },
    );
    await runPipeline(acts, 'fork', input);
    assert.deepEqual(
      (await steps('fork')).map((s) => [s.step, s.stage, s.phase, s.learningRate]),
      [
        [4, 1, 'alternating', 0.3],
        [5, 5, 'discriminator', 0.3],
        [6, 5, 'generator', 0.3],
        [7, 5, 'generator', 0.3],
        [8, 5, 'alternating', 0.3],
      ],
    );
    assert.notEqual(await adapterOf('fork', 'latest'), await adapterOf('run', 'latest'));
  });

  it('trains on other problems without the archived chains of its origin', async () => {
    await runPipeline(acts, 'run', RUN);
    const shift = (problems: Problem[]) => problems.map((_, i) => addProblem(100 + i));
    const { train, validation, test } = problemSet();
    world.deps.loadProblems = async () => ({ train: shift(train), validation, test });
    await runPipeline(acts, 'fork', { ...RUN, start: { run: 'run', checkpoint: 'latest' } });
    const { files } = await loadCheckpoint(world.deps.store, 'run', 'latest');
    assert.notEqual(Buffer.from(files.get('archive.json')!).toString(), '{"entries":[]}');
    assert.equal((await steps('fork')).length, (await steps('run')).length);
  });

  it('trains the whole schedule from the given adapters', async () => {
    await runPipeline(acts, 'run', RUN);
    await runPipeline(acts, 'again', { ...RUN, start: { run: 'run' } });
    assert.equal(await adapterOf('again', 'checkpoint_stage_0_epoch_0'), await adapterOf('run', 'best'));
    assert.equal((await steps('again')).length, (await steps('run')).length);
    const [first] = await listCheckpoints(world.deps.store, 'again');
    const best = await loadCheckpoint(world.deps.store, 'run', 'best');
    assert.equal(first!.score, best.metadata.score, 'it is measured as it was');
  });

  it('starts from the best matching run, protects it, and uses new adapters if no run matches', async () => {
    const config = scheduledInput('nightly', RUN, false);
    await runPipeline(acts, 'other-1', { ...RUN, seed: 5 });
    await runPipeline(acts, 'nightly-1', config);
    assert.equal((await readRun(world.deps.store, 'nightly-1')).origin, undefined);
    const cut: Activities = {
      ...acts,
      judgeEvaluation: () => Promise.reject(new Error('killed')),
    };
    await assert.rejects(runPipeline(cut, 'nightly-2', config), /killed/);
    const { origin } = await readRun(world.deps.store, 'nightly-2');
    assert.equal(origin?.run, 'nightly-1');
    await runPipeline(acts, 'nightly-0', config); // another run may have become the best meanwhile
    await runPipeline(acts, 'nightly-2', config);
    assert.deepEqual((await readRun(world.deps.store, 'nightly-2')).origin, origin);
    assert.equal(
      await adapterOf('nightly-2', 'checkpoint_stage_0_epoch_0'),
      await adapterOf('nightly-1', origin!.checkpoint),
    );
  });

  it('starts only from runs of its own schedule if it belongs to a schedule', async () => {
    const time = '2026-11-26T03:00:00Z';
    const others = [`nightly-big-${time}`, `nightly-2-${time}`, `nightly-${time}-from-stage_1_epoch_2`, 'nightly-1'];
    for (const [i, id] of others.entries()) await runPipeline(acts, id, { ...RUN, seed: 10 + i });
    const originOf = async (run: string) => {
      await acts.prepareRun({ runId: run, input: scheduledInput('nightly', RUN, false) });
      return (await readRun(world.deps.store, run)).origin?.run;
    };
    assert.equal(await originOf(`nightly-${time}`), undefined);
    await runPipeline(acts, `nightly-${time}`, scheduledInput('nightly', RUN, false));
    assert.equal(await originOf('nightly-2026-11-27T03:00:00Z'), `nightly-${time}`);
  });

  it("keeps the start of its schedule's configuration, except with --fresh", () => {
    const start = { run: 'warm-0', checkpoint: 'latest' };
    assert.deepEqual(scheduledInput('nightly', { start }, false).start, start);
    assert.equal(scheduledInput('nightly', { start }, true).start, null);
  });

  it('has another seed than the other runs of its schedule', () => {
    const config = resolveConfig(scheduledInput('nightly', { seed: 4 }, true));
    const seeds = ['nightly-1', 'nightly-2', 'nightly-1'].map((id) => seeded(config, id).seed);
    assert.equal(seeds[0], seeds[2]);
    assert.notEqual(seeds[0], seeds[1]);
    assert.equal(seeded(resolveConfig({ seed: 4 }), 'nightly-1').seed, 4);
  });

  it('fails if the adapters do not fit or the checkpoint does not exist', async () => {
    await runPipeline(acts, 'run', RUN);
    const start = { run: 'run' };
    const refused = (input: object, expected: object) => assert.rejects(runPipeline(acts, 'x', input), expected);
    await refused({ ...RUN, start, lora: { rank: 2 } }, { message: /start: checkpoint_.* has lora\.rank/ });
    await refused({ ...RUN, start: { run: 'nobody' } }, { message: /no run nobody|no checkpoint/ });
    const { metadata, files } = await loadCheckpoint(world.deps.store, 'run', 'best');
    const { runId, name: _, files: __, digest: ___, ...facts } = metadata;
    files.set('generator/value_head.safetensors', new Uint8Array(4)); // version 0.3.0 could train one adapter
    await commitCheckpoint(world.deps.store, runId, facts, files);
    await refused({ ...RUN, start }, { message: /has generator\/value_head\.safetensors, which this version cannot/ });
  });
});

import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import type { Ref } from '../../core/base/ref.js';
import type { Chain } from '../../core/schema/chain.js';
import type { Solution } from '../../core/schema/solving.js';
import type { Activities } from '../../method/activities.js';
import { loadCheckpoint } from '../../store/checkpoints.js';
import { readConfigAt, readRun } from '../../store/runs.js';
import { addProblems, type Doubles, memoryDoubles as doubles, FakeEngine, SMALL_RUN } from '../support/doubles.js';
import { runPipeline, solve } from '../support/runs.js';

describe('solving problems', () => {
  let world: Doubles;
  let acts: Activities;
  beforeEach(async () => {
    world = await doubles();
    acts = createActivities(world.deps);
  });

  it('returns programs and the number of tests that they pass', async () => {
    const result = await solve(acts, { preset: 'tiny', limit: 3, samples: 2, temperature: 0.8 });
    const solutions = await world.deps.store.getJson(result.solutions);
    assert.deepEqual(
      solutions.map((s) => [s.problemId, s.sample]),
      ['add-30', 'add-31', 'add-32'].flatMap((id) => [
        [id, 0],
        [id, 1],
      ]),
    );
    assert.ok(solutions.every((s) => s.code.startsWith('def solve(x):') && s.tests === 2));
    const solved = new Set(solutions.filter((s) => s.passed === s.tests).map((s) => s.problemId));
    assert.deepEqual([result.solved, result.problems], [solved.size, 3]);
  });

  it('asks a model that does not know the tiny markers in plain English', async () => {
    world.engine.info.contextLength = 10_000;
    world.engine.encode = (text) => [...text].map((char) => char.charCodeAt(0));
    const { chains } = await solve(acts, { limit: 1 });
    const [{ turns }] = (await world.deps.store.getJson(chains)) as [Chain];
    assert.match(world.engine.decode(turns[0]!.promptTokens), /^You are an expert Python programmer/);
    const input = { ...SMALL_RUN, prompts: 'tiny' };
    await assert.rejects(acts.prepareRun({ runId: 'public', input }), {
      type: 'BAD_CONFIG',
      message: /^prompts: 'tiny' is for the shipped model, not for tiny: use .* prompts=instruct$/,
    });
  });

  it('writes tests for every stage if requested', async () => {
    const result = await solve(acts, { limit: 2, tests: true });
    const batch = await world.deps.store.getJson(result.tests!);
    assert.deepEqual(
      batch.turns.map((turn) => turn.stage),
      [1, 2, 3, 4, 5, 1, 2, 3, 4, 5],
    );
  });

  it('uses the adapters and settings of a checkpoint', async () => {
    await runPipeline(acts, 'teacher', { ...SMALL_RUN, schedule: { ...SMALL_RUN.schedule, generatorSteps: 3 } });
    const input = { samples: 8, temperature: 0.8 };
    const share = async (stored: Ref<Solution[]>): Promise<number> => {
      const solutions = await world.deps.store.getJson(stored);
      return solutions.filter((s) => /x \+ \d+$/.test(s.code)).length / solutions.length;
    };
    const base = await share((await solve(acts, input)).solutions);
    const trained = await share(
      (await solve(acts, { ...input, checkpoint: { runId: 'teacher', name: 'latest' } })).solutions,
    );
    assert.ok(trained > base, `${trained} > ${base}`);
    await assert.rejects(solve(acts, { checkpoint: { runId: 'teacher', name: 'checkpoint_stage_2_epoch_9' } }), {
      type: 'NOT_FOUND',
      nonRetryable: true,
    });
  });

  it("uses the configuration of the checkpoint, which may be newer than the manifest's", async () => {
    const { store } = world.deps;
    await runPipeline(acts, 'run', SMALL_RUN);
    const { config } = await readRun(store, 'run');
    const { metadata } = await loadCheckpoint(store, 'run', 'latest');
    assert.deepEqual(await readConfigAt(store, metadata), config);
    const configDigest = await store.putJson({ ...config, testsPerTurn: 1 });
    assert.equal((await readConfigAt(store, { ...metadata, configDigest })).testsPerTurn, 1);
    const lost = { ...metadata, configDigest: `sha256:${'e'.repeat(64)}` };
    assert.deepEqual(await readConfigAt(store, lost), config);
  });

  it("accepts the checkpoint's base model in any place, but refuses a base with other weights", async () => {
    const other = new FakeEngine();
    other.info.digest = `sha256:${'e'.repeat(64)}`;
    world.deps.engine = async (model) => (model.startsWith('other') ? other : world.engine);
    const checkpoint = { runId: 'run', name: 'latest' };
    await runPipeline(acts, 'run', SMALL_RUN);
    await solve(acts, { checkpoint, model: 'moved' });
    await solve(acts, { checkpoint, model: 'other', untrained: true });
    await assert.rejects(solve(acts, { checkpoint, model: 'other' }), {
      type: 'BAD_MODEL',
      message: /^other: not the model that the generator of run\/checkpoint_\w+ was trained on; .* --model$/,
    });
    await runPipeline(acts, 'run-2', { ...SMALL_RUN, discriminator: { model: 'other-2' } });
    await solve(acts, { checkpoint: { ...checkpoint, runId: 'run-2' } });
    other.info.digest = `sha256:${'f'.repeat(64)}`;
    await assert.rejects(solve(acts, { checkpoint: { ...checkpoint, runId: 'run-2' } }), {
      message: /^other-2: not the model that the discriminator of run-2\/checkpoint_\w+ was trained on; put/,
    });
  });

  it('uses all problems of a file, and rejects an empty file', async () => {
    const all = addProblems(1, 3);
    world.deps.loadProblems = async () => ({ train: all.slice(0, 1), validation: all.slice(1, 2), test: all.slice(2) });
    const { chains } = await solve(acts, { source: 'mine.json' });
    const ids = (await world.deps.store.getJson(chains)).map((chain) => chain.problemId);
    assert.deepEqual(ids, ['add-1', 'add-2', 'add-3']);
    world.deps.loadProblems = async () => ({ train: [], validation: [], test: [] });
    await assert.rejects(solve(acts, { source: 'none.json' }), {
      type: 'BAD_INPUT',
      message: /none\.json: no problems/,
    });
  });

  it('rejects invalid input and names the field', async () => {
    for (const [input, line] of [
      [{ split: 'dev' }, /^split: /],
      [{ samples: 0 }, /^samples: /],
      [{ colour: 'red' }, /colour/],
      [null, /object/],
    ] as const) {
      await assert.rejects(solve(acts, input as never), { type: 'BAD_INPUT', nonRetryable: true, message: line });
    }
  });

  it('fails if a split has no problem to train on', async () => {
    world.deps.loadProblems = async () => ({ train: addProblems(1, 2), validation: [], test: [] });
    await assert.rejects(acts.prepareRun({ runId: 'small', input: SMALL_RUN }), {
      type: 'BAD_INPUT',
      message: /training needs at least three problems \(train, validation, test\), but there are 2$/,
    });
  });

  it('replaces a lost memo record, even for a slow activity', async () => {
    const { store } = world.deps;
    const records = new Set<string>();
    const putMemo = store.putMemo.bind(store);
    store.putMemo = async (key, digest) => {
      records.add(digest);
      return putMemo(key, digest);
    };
    const first = await acts.prepareSolving({ limit: 1 });
    const hasBlob = store.hasBlob.bind(store);
    store.hasBlob = async (digest) => !records.has(digest) && (await hasBlob(digest));
    const again = await acts.prepareSolving({ limit: 1 });
    assert.deepEqual({ ...again, seconds: 0 }, { ...first, seconds: 0 });
  });

  it('limits answers as EvalPlus does, if its prompts are chosen', async () => {
    const { store } = world.deps;
    const acts = createActivities(world.deps);
    const limitOf = async (prompts: object): Promise<number> => {
      const { run } = await acts.prepareSolving({ limit: 1, ...prompts });
      return (await store.getJson(run.config)).sampling.maxNewTokens;
    };
    assert.notEqual(await limitOf({}), 768);
    assert.equal(await limitOf({ prompts: 'evalplus', stages: [5] }), 768);
  });
});

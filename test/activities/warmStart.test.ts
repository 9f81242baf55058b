// The warm start: supervised steps of both roles before the first stage.
import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { runResultSchema } from '../../core/schema/run.js';
import type { Activities } from '../../method/activities.js';
import { loadCheckpoint } from '../../store/checkpoints.js';
import { readMetrics } from '../../store/runs.js';
import { StepSkipped } from '../../workflows/failures.js';
import { type Doubles, memoryDoubles as doubles, problemSet, SMALL_RUN } from '../support/doubles.js';
import { pluck } from '../support/pluck.js';
import { runPipeline } from '../support/runs.js';

const WARM_RUN = {
  ...SMALL_RUN,
  warmStart: { discriminatorSteps: 2, generatorSteps: 2, learningRate: 1e-3 },
};

describe('the warm start', () => {
  let world: Doubles;
  let acts: Activities;
  beforeEach(async () => {
    world = await doubles();
    acts = createActivities(world.deps);
  });

  const records = (runId = 'run') => readMetrics(world.deps.store, runId);
  const supervised = async () => (await records()).filter((record) => record.kind === 'supervised');

  it('trains both roles before the first stage, and measures the result on the test split', async () => {
    const result = runResultSchema.parse(await runPipeline(acts, 'run', WARM_RUN));
    const all = await records();
    assert.deepEqual(
      (await supervised()).map(({ step, role, rows }) => [step, role, rows]),
      [
        [1, 'discriminator', 32],
        [2, 'discriminator', 32],
        [3, 'generator', 32],
        [4, 'generator', 32],
      ],
    );
    const [first] = all.filter((record) => record.kind === 'step');
    assert.deepEqual([first!.step, first!.stage], [5, 1]);
    const tests = all.filter((record) => record.kind === 'evaluation' && record.split === 'test');
    assert.deepEqual(
      tests.map((record) => record.kind === 'evaluation' && [record.step, record.checkpoint]),
      [
        [0, 'base'],
        [4, 'checkpoint_stage_0_epoch_1'],
        [10, result.best],
      ],
    );
    assert.ok(result.warmStart!.passRate > result.before.passRate);
    assert.ok(world.engine.losses.slice(0, 16).every((loss) => loss.supervised && loss.temperature === 1));
    assert.ok(world.engine.losses.slice(16).every((loss) => !loss.supervised));
  });

  it('saves the progress of long updates, and removes it after each update', async () => {
    const { store } = world.deps;
    const { writeRunFile } = store;
    const saved: string[] = [];
    store.writeRunFile = async (runId, path, bytes) => {
      if (path.startsWith('updates/')) saved.push(path);
      else if (path.startsWith('metrics/')) assert.ok((await store.listRunFiles(runId, 'updates')).length <= 1);
      return writeRunFile.call(store, runId, path, bytes);
    };
    const { now } = performance;
    let clock = 0;
    performance.now = () => (clock += 30_000); // in milliseconds
    try {
      await runPipeline(acts, 'run', WARM_RUN);
    } finally {
      performance.now = now;
    }
    assert.ok(new Set(saved.map((path) => path.split('.')[0])).size > 4); // four files belong to the warm start
    assert.deepEqual(await store.listRunFiles('run', 'updates'), []);
  });

  it('passes on the adapters, but neither the optimizer nor the position in the learning rate schedule', async () => {
    await runPipeline(acts, 'run', WARM_RUN);
    const { store } = world.deps;
    const [base, warm] = await Promise.all(
      [0, 1].map((e) => loadCheckpoint(store, 'run', `checkpoint_stage_0_epoch_${e}`)),
    );
    for (const role of ['generator', 'discriminator']) {
      const digests = (name: string) => [base, warm].map((each) => each!.metadata.files[name]);
      const [before, after] = digests(`${role}/adapter_model.safetensors`);
      assert.notEqual(before, after);
      const [fresh, kept] = digests(`optimizer_${role}.bin`);
      assert.ok(fresh !== undefined);
      assert.equal(fresh, kept);
    }
    const [first] = (await records()).filter((record) => record.kind === 'step');
    assert.equal(first!.learningRate, 1e-3 / 3); // the first of three warm-up updates
  });

  it("stops a role when its validation loss no longer falls, and keeps the role's best adapter", async () => {
    const losses = [3, 2, 4, 5, 1, 3, 0.5, 0.4, 0.3]; // the discriminator stops after its fourth step
    const adapters: string[] = [];
    const trainOnExamples: Activities['trainOnExamples'] = async (input) => {
      const trained = await acts.trainOnExamples(input);
      adapters.push(trained.state.adapter);
      return { ...trained, loss: losses.shift()! };
    };
    const warmStart = { ...WARM_RUN.warmStart, discriminatorSteps: 5, generatorSteps: 5, patience: 2 };
    await runPipeline({ ...acts, trainOnExamples }, 'run', { ...WARM_RUN, warmStart });
    const roles = (await supervised()).map(({ role }) => role[0]);
    assert.equal(roles.join(''), 'ddddggggg');
    const { metadata } = await loadCheckpoint(world.deps.store, 'run', 'checkpoint_stage_0_epoch_1');
    assert.equal(metadata.files['discriminator/adapter_model.safetensors'], adapters[1]);
    assert.equal(metadata.files['generator/adapter_model.safetensors'], adapters[8]);
  });

  it('keeps the latest adapter if the validation split has no example', async () => {
    const adapters: string[] = [];
    const trainOnExamples: Activities['trainOnExamples'] = async (input) => {
      const { loss: _, ...trained } = await acts.trainOnExamples(input);
      adapters.push(trained.state.adapter);
      return trained;
    };
    await runPipeline({ ...acts, trainOnExamples }, 'run', {
      ...WARM_RUN,
      warmStart: { ...WARM_RUN.warmStart, patience: 1 },
    });
    const { metadata } = await loadCheckpoint(world.deps.store, 'run', 'checkpoint_stage_0_epoch_1');
    assert.equal(metadata.files['discriminator/adapter_model.safetensors'], adapters[1]);
    assert.equal(metadata.files['generator/adapter_model.safetensors'], adapters[3]);
    const leaf = createActivities(world.deps);
    const { run } = await acts.prepareRun({ runId: 'other', input: WARM_RUN });
    const examples = await world.deps.store.putJson([]);
    const { loss } = await leaf.scoreExamples({ run, role: 'generator', examples, adapter: adapters[0]! });
    assert.equal(loss, undefined);
  });

  it('keeps the best adapter and a new optimizer if the last step of a role is skipped', async () => {
    const adapters: string[] = [];
    const trainOnExamples: Activities['trainOnExamples'] = async (input) => {
      if (adapters.length === 5) throw new StepSkipped('a person skipped it');
      const trained = await acts.trainOnExamples(input);
      adapters.push(trained.state.adapter);
      return { ...trained, loss: adapters.length }; // the first step of each role has the best loss
    };
    const warmStart = { ...WARM_RUN.warmStart, discriminatorSteps: 3, generatorSteps: 3, patience: 5 };
    await runPipeline({ ...acts, trainOnExamples }, 'run', { ...WARM_RUN, warmStart });
    const [base, warm] = await Promise.all(
      [0, 1].map((e) => loadCheckpoint(world.deps.store, 'run', `checkpoint_stage_0_epoch_${e}`)),
    );
    assert.equal(warm!.metadata.files['discriminator/adapter_model.safetensors'], adapters[0]);
    assert.equal(warm!.metadata.files['generator/adapter_model.safetensors'], adapters[3]);
    const [fresh, kept] = [base, warm].map((each) => each!.metadata.files['optimizer_generator.bin']);
    assert.ok(fresh !== undefined);
    assert.equal(fresh, kept);
  });

  it("runs only the references of the discriminator's problems", async () => {
    const warmStart = { ...WARM_RUN.warmStart, discriminatorSteps: 1, generatorSteps: 3 };
    const { run } = await acts.prepareRun({ runId: 'run', input: { ...WARM_RUN, warmStart } });
    const { executions } = await createActivities(world.deps).answerFreshInputs({ run });
    const { train, validation } = problemSet(); // the step contains all problems of the train split
    assert.equal(executions, train.length + validation.length);
  });

  it('ends with the same adapters after a crash in the middle', async () => {
    const calm = await doubles();
    const expected = await runPipeline(createActivities(calm.deps), 'run', WARM_RUN);
    let calls = 0;
    const crash: Activities['trainOnExamples'] = async (input) => {
      if (++calls === 3) throw new Error('killed');
      return acts.trainOnExamples(input);
    };
    await assert.rejects(runPipeline({ ...acts, trainOnExamples: crash }, 'run', WARM_RUN), /killed/);
    const trained = world.engine.calls.filter((call) => call === 'gradients').length;
    const { digests, best } = await runPipeline(acts, 'run', WARM_RUN);
    assert.deepEqual([digests, best], [expected.digests, expected.best]);
    assert.equal(trained, 8); // two steps of four minibatches each were not computed again
  });

  it('teaches reference solutions, and tests with the answers of the references', async () => {
    const { run } = await acts.prepareRun({
      runId: 'run',
      input: { ...WARM_RUN, prompts: 'instruct', stages: [5], schedule: {} },
    });
    const leaf = createActivities(world.deps);
    world.engine.info.contextLength = 4000;
    const { tests } = await leaf.answerFreshInputs({ run });
    const texts = async (role: 'generator' | 'discriminator') => {
      const { examples } = await leaf.writeExamples({ run, role, tests, step: 1 });
      const rows = await world.deps.store.getJson(examples);
      return rows.map(({ tokens, mask }) => ({
        prompt: world.engine.decode(tokens.filter((_, t) => mask[t] === 0)),
        answer: world.engine.decode(tokens.filter((_, t) => mask[t] === 1)),
      }));
    };
    for (const { prompt, answer } of await texts('generator')) {
      const n = Number(/add (\d+)/.exec(prompt)![1]);
      assert.ok(prompt.endsWith('```python\n'));
      assert.equal(answer, `def solve(x):\n    return x + ${n}\n\`\`\``);
    }
    for (const { prompt, answer } of await texts('discriminator')) {
      const n = Number(/add (\d+)/.exec(prompt)![1]);
      assert.ok(
        prompt.includes(`return x + ${n}`) &&
          prompt.endsWith('\nTest 2: assert solve(x) == expectedTest 1: assert solve'),
      );
      const pairs = [...answer.matchAll(/\((-?\d+)\) == (-?\d+)/g)];
      assert.equal(pairs.length, 2, answer);
      for (const [, x, expected] of pairs) assert.equal(Number(expected), Number(x) + n);
    }
    for (const [id, own] of Object.entries(await world.deps.store.getJson(tests)))
      assert.ok(own.length > 5 && own.every(({ args }) => args[0] !== 0 && args[0] !== 1), id); // differs from the inputs of the baseline tests
  });

  it('names the field to set if the problems give a role nothing to learn', async () => {
    const { run } = await acts.prepareRun({ runId: 'run', input: WARM_RUN });
    const tests = await world.deps.store.putJson({});
    await assert.rejects(createActivities(world.deps).writeExamples({ run, role: 'discriminator', tests, step: 1 }), {
      type: 'BAD_INPUT',
      message: /no test with literal arguments that it could learn: set warmStart.discriminatorSteps to 0$/,
    });
  });

  it('trains only the generator if there is no discriminator', async () => {
    await runPipeline(acts, 'run', { ...WARM_RUN, discriminator: { enabled: false } });
    assert.deepEqual(pluck(await supervised(), 'role'), ['generator', 'generator']);
  });

  it('continues when a checkpoint in the middle of its schedule is forked', async () => {
    const whole = await runPipeline(acts, 'run', WARM_RUN);
    for (const [id, run, checkpoint] of [
      ['fork', 'run', 'checkpoint_stage_0_epoch_1'],
      ['again', 'fork', 'checkpoint_stage_0_epoch_0'],
    ] as const) {
      const { digests } = await runPipeline(acts, id, { ...WARM_RUN, start: { run, checkpoint, schedule: 'rest' } });
      assert.deepEqual(digests, whole.digests, id);
      assert.ok((await records(id)).every(({ kind }) => kind !== 'supervised'));
    }
  });
});

import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { groupBy } from '../../core/base/groups.js';
import { STAGES } from '../../core/schema/chain.js';
import { runResultSchema } from '../../core/schema/run.js';
import type { Activities } from '../../method/activities.js';
import { listCheckpoints, loadCheckpoint, verifyCheckpoints } from '../../store/checkpoints.js';
import { readMetrics } from '../../store/runs.js';
import { type Doubles, memoryDoubles as doubles, SEARCHED, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

const withoutTime = <T extends object>(record: T): T => ({
  ...record,
  seconds: 0,
  tokensPerSecond: 0,
  trainingSeconds: 0,
});

describe('a training run in one process', () => {
  let world: Doubles;
  let acts: Activities;
  let reports: string[];

  beforeEach(async () => {
    reports = [];
    world = await doubles({
      renderReport: async (runId) => {
        reports.push(runId);
        return '<html></html>';
      },
    });
    acts = createActivities(world.deps);
  });

  it('improves the rates on the test split', async () => {
    const result = await runPipeline(acts, 'run', {
      ...SMALL_RUN,
      schedule: { ...SMALL_RUN.schedule, generatorSteps: 3 },
    });
    runResultSchema.parse(result);
    assert.ok(result.after.passRate > result.before.passRate, `${result.after.passRate} > ${result.before.passRate}`);
    assert.ok(result.trainingSeconds > 0);
    assert.match(result.report ?? '', /runs\/run\/report\.html$/);
    assert.deepEqual(reports, ['run']);
  });

  it('records every update and every evaluation', async () => {
    await runPipeline(acts, 'run', SMALL_RUN);
    const records = await readMetrics(world.deps.store, 'run');
    const steps = records.filter((record) => record.kind === 'step');
    assert.deepEqual(
      steps.map((s) => [s.step, s.stage, s.phase, s.epoch, s.role]),
      [
        [1, 1, 'discriminator', 1, 'discriminator'],
        [2, 1, 'generator', 2, 'generator'],
        [3, 1, 'alternating', 3, 'generator'],
        [4, 5, 'discriminator', 1, 'discriminator'],
        [5, 5, 'generator', 2, 'generator'],
        [6, 5, 'alternating', 3, 'generator'],
      ],
    );
    const evaluations = records.filter((record) => record.kind === 'evaluation');
    assert.equal(evaluations.filter((e) => e.split === 'test').length, 2);
    assert.equal(evaluations.filter((e) => e.split === 'validation').length, 7); // before training, and after each epoch
    assert.ok(steps.every((s) => s.validity !== undefined && s.sampledTokens > 0));
    assert.ok(steps.some((s) => s.rows > 0 && s.update.tokens > 0));
  });

  it('writes a checkpoint after every epoch and returns the best one', async () => {
    const result = await runPipeline(acts, 'run', SMALL_RUN);
    const { store } = world.deps;
    const checkpoints = await listCheckpoints(store, 'run');
    assert.equal(checkpoints.length, 7);
    assert.ok((await verifyCheckpoints(store, 'run')).every((report) => report.problems.length === 0));
    const best = await loadCheckpoint(store, 'run', 'best');
    assert.equal(best.metadata.name, result.best);
    assert.equal(best.metadata.files['generator/adapter_model.safetensors'], result.digests.generator);
    assert.equal(best.metadata.files['discriminator/adapter_model.safetensors'], result.digests.discriminator);
    assert.equal(best.metadata.score, Math.max(...checkpoints.map((checkpoint) => checkpoint.score)));
  });

  it('opens the model with the settings of the run, and keeps it until the run ends', async () => {
    const opened = new Set<string>();
    world.deps.engine = async (_, { device, checkpointing }) => {
      opened.add(JSON.stringify({ device, checkpointing }));
      return world.engine;
    };
    const engine = { device: 'auto', checkpointing: true } as const;
    await runPipeline(acts, 'run', { ...SMALL_RUN, engine });
    assert.deepEqual([...opened], [JSON.stringify(engine)]);
  });

  it('judges during the next step without a change of the result', async () => {
    const expected = await runPipeline(acts, 'run', SMALL_RUN);
    const other = await doubles();
    const whole = createActivities(other.deps);
    const order: string[] = [];
    let begun = (): void => undefined;
    const beside: Activities = {
      ...whole,
      async generateChains(input) {
        order.push('sample');
        begun();
        return whole.generateChains(input);
      },
      async judgeEvaluation(input) {
        const { target } = input;
        const name = target.split === 'test' ? 'test' : `${target.checkpoint.stage}/${target.checkpoint.epoch}`;
        // the verdict of stage 1, epoch 1 waits for the next step, so a step that waited for the verdict would never end
        if (name === '1/1') await new Promise<void>((resolve) => (begun = resolve));
        const judged = await whole.judgeEvaluation(input);
        order.push(name);
        return judged;
      },
    };
    const result = await runPipeline(beside, 'run', SMALL_RUN);
    assert.deepEqual([result.digests, result.after, result.best], [expected.digests, expected.after, expected.best]);
    assert.ok(order.indexOf('1/1') > order.indexOf('sample') + 1, order.join(' '));
    const named = order.filter((what) => what !== 'sample');
    assert.deepEqual(named, ['test', '0/0', '1/1', '1/2', '1/3', '5/1', '5/2', '5/3', 'test']);
    assert.equal(order.at(-1), 'sample', 'the example comes after all of it');
    const names = async ({ deps }: Doubles) =>
      (await listCheckpoints(deps.store, 'run')).map(({ name, score }) => [name, score]);
    assert.deepEqual(await names(other), await names(world));
  });

  it('ends the run after the current step if an evaluation fails', async () => {
    let steps = 0;
    let fail = (): void => undefined;
    const failing: Activities = {
      ...acts,
      trainPolicy: (input) => {
        if (++steps === 2) fail();
        return acts.trainPolicy(input);
      },
      judgeEvaluation: ({ target, ...input }) =>
        target.split === 'validation' && target.checkpoint.epoch === 1
          ? new Promise((_, reject) => (fail = () => reject(new Error('no hidden tests'))))
          : acts.judgeEvaluation({ target, ...input }),
    };
    await assert.rejects(runPipeline(failing, 'run', SMALL_RUN), /no hidden tests/);
    assert.equal(steps, 2);
  });

  it('freezes the adapters of earlier stages, also in checkpoints and in runs that continue from them', async () => {
    const frozen: unknown[] = [];
    const listening: Activities = {
      ...acts,
      async generateChains(input) {
        if (input.batch.kind === 'train' && input.batch.position.stage === 5) frozen.push(input.frozen);
        return acts.generateChains(input);
      },
    };
    const config = { ...SMALL_RUN, adapters: 'per-stage' } as const;
    await runPipeline(listening, 'run', config);
    const { store } = world.deps;
    const stageOne = await loadCheckpoint(store, 'run', 'checkpoint_stage_1_epoch_3');
    const adapter = stageOne.metadata.files['generator/adapter_model.safetensors']!;
    assert.equal(stageOne.metadata.files['generator/stage_1/adapter_model.safetensors'], undefined);
    assert.ok(frozen.length > 0);
    for (const one of frozen) assert.deepEqual((one as Record<number, string>)[1], adapter);
    const latest = await loadCheckpoint(store, 'run', 'checkpoint_stage_5_epoch_2');
    assert.equal(latest.metadata.files['generator/stage_1/adapter_model.safetensors'], adapter);
    assert.notEqual(latest.metadata.files['generator/adapter_model.safetensors'], adapter);
    const start = { run: 'run', checkpoint: 'checkpoint_stage_5_epoch_2', schedule: 'rest' } as const;
    const { state } = await acts.prepareRun({ runId: 'next', input: { ...config, start } });
    assert.equal(state.generator.frozen?.[1], adapter);
    const solving = await acts.prepareSolving({ checkpoint: { runId: 'run', name: 'checkpoint_stage_5_epoch_2' } });
    assert.equal(solving.generator.frozen?.[1], adapter);
  });

  it('produces the same bytes in a new store', async () => {
    const first = await runPipeline(acts, 'run', SMALL_RUN);
    const other = await doubles();
    const second = await runPipeline(createActivities(other.deps), 'other', SMALL_RUN);
    assert.deepEqual(second.digests, first.digests);
    assert.deepEqual(second.after, first.after);
    const records = async ({ deps }: Doubles, id: string) => (await readMetrics(deps.store, id)).map(withoutTime);
    assert.deepEqual(await records(other, 'other'), await records(world, 'run'));
  });

  it('produces other bytes for another seed', async () => {
    const first = await runPipeline(acts, 'run', SMALL_RUN);
    const second = await runPipeline(acts, 'other', { ...SMALL_RUN, seed: 4 });
    assert.notDeepEqual(second.digests, first.digests);
  });

  it('ends with the same bytes if it is interrupted at any call and restarted', async () => {
    const undisturbed = await runPipeline(acts, 'run', SMALL_RUN);
    const other = await doubles();
    const whole = createActivities(other.deps);
    for (let allowed = 7; ; allowed += 11) {
      let calls = 0;
      const cut = Object.fromEntries(
        Object.entries(whole).map(([name, act]) => [
          name,
          (input: never) => {
            if (++calls > allowed) throw new Error('killed');
            return (act as (input: never) => Promise<unknown>)(input);
          },
        ]),
      ) as unknown as Activities;
      const result = await runPipeline(cut, 'run', SMALL_RUN).catch((error: Error) => error.message);
      if (result === 'killed') continue;
      assert.ok(typeof result === 'object');
      assert.deepEqual(result.digests, undisturbed.digests);
      break;
    }
  });

  it('reuses all results in a second run of the same configuration', async () => {
    await runPipeline(acts, 'run', SMALL_RUN);
    const before = world.engine.calls.length;
    const jobs = world.sandbox.jobs.length;
    const again = await runPipeline(acts, 'again', SMALL_RUN);
    assert.equal(world.engine.calls.length, before);
    assert.equal(world.sandbox.jobs.length, jobs);
    assert.ok(again.trainingSeconds > 0); // the time when it was computed
  });

  it('trains only the generator on baseline tests without a discriminator', async () => {
    const result = await runPipeline(acts, 'run', { ...SMALL_RUN, discriminator: { enabled: false } });
    const steps = (await readMetrics(world.deps.store, 'run')).filter((record) => record.kind === 'step');
    assert.ok(
      steps.length > 0 && steps.every((s) => s.role === 'generator' && s.suiteSize === 2 && s.validity === undefined),
    );
    assert.equal(result.digests.discriminator.length, 71);
  });

  it('trains the generator on random inputs that the reference answers', async () => {
    const discriminator = { expected: 'reference', writer: 'random' } as const;
    await runPipeline(acts, 'run', { ...SMALL_RUN, discriminator });
    const records = await readMetrics(world.deps.store, 'run');
    const steps = records.filter((record) => record.kind === 'step');
    assert.ok(steps.length > 0);
    for (const { role, validity, artifacts, suiteSize } of steps) {
      assert.deepEqual([role, validity], ['generator', 1]); // the reference of the doubles answers every input
      assert.ok(suiteSize > 2);
      const { turns } = await world.deps.store.getJson(artifacts.tests!);
      assert.ok(turns.length > 0 && turns.every(({ answerTokens }) => answerTokens.length === 0));
    }
  });

  it('trains the generator on inputs with constants of the problem, its reference and the tested program', async () => {
    const discriminator = { expected: 'reference', writer: 'dictionary' } as const;
    await runPipeline(acts, 'run', { ...SMALL_RUN, discriminator });
    const [step] = (await readMetrics(world.deps.store, 'run')).filter((record) => record.kind === 'step');
    assert.deepEqual([step!.role, step!.validity], ['generator', 1]);
    const { turns } = await world.deps.store.getJson(step!.artifacts.tests!);
    const near = (text: string, n: number) => [n - 1, n, n + 1].some((constant) => text.includes(`((${constant},)`));
    assert.ok(turns.every(({ answerTokens }) => answerTokens.length === 0));
    assert.ok(turns.some(({ text, problemId }) => near(text, Number(problemId.split('-')[1])))); // the description says 'add 7'
  });

  it('trains the generator on inputs of one search for each chain, and with other inputs where it finds too few', async () => {
    const discriminator = { expected: 'reference', writer: 'search' } as const;
    await runPipeline(acts, 'run', { ...SMALL_RUN, discriminator, testTurns: 2, testsPerTurn: 2 });
    const [step] = (await readMetrics(world.deps.store, 'run')).filter((record) => record.kind === 'step');
    assert.deepEqual([step!.role, step!.validity], ['generator', 1]);
    const { turns } = await world.deps.store.getJson(step!.artifacts.tests!);
    assert.ok(turns.every(({ text }) => text.match(/\(\(-?\d+,\)/g)?.length === 2));
    for (const own of groupBy(turns, ({ problemId }) => problemId).values())
      for (const [i, [x]] of SEARCHED.entries()) assert.ok(own[i]!.text.startsWith(`((${x},)`));
    const searches = world.sandbox.jobs.filter(({ entry }) => entry === 'search').map(({ inputs }) => inputs[0]!);
    assert.ok(
      searches.some(([reference, program]) => /def solve/.test(`${reference}`) && /def solve/.test(`${program}`)),
    );
  });

  it('writes tests for one chain of each problem in a generator step, with testTurns turns for a stage', async () => {
    await runPipeline(acts, 'run', { ...SMALL_RUN, testTurns: 3 });
    const records = await readMetrics(world.deps.store, 'run');
    const steps = records.flatMap((record) => (record.kind === 'step' && record.role === 'generator' ? [record] : []));
    assert.ok(steps.length > 0);
    for (const { artifacts } of steps) {
      const { turns } = await world.deps.store.getJson(artifacts.tests!);
      const targets = new Set(turns.map(({ problemId, chainSample, stage }) => `${problemId} ${chainSample} ${stage}`));
      const { problems } = SMALL_RUN.batch.generator;
      assert.equal(targets.size, problems * STAGES.length);
      assert.equal(turns.length, 3 * targets.size);
    }
  });

  it('shows the discriminator the answer of the stage that it tests', async () => {
    const { run } = await acts.prepareRun({ runId: 'run', input: SMALL_RUN });
    const position = { stage: 1, epoch: 1, phase: 'generator', step: 1, role: 'generator' } as const;
    const batch = { kind: 'train', role: 'generator', position } as const;
    const { chains } = await acts.generateChains({ run, batch, stages: [1, 2, 3, 4, 5] });
    const targets = { kind: 'all-stages', chains, position } as const;
    const { tests } = await acts.generateTests({ run, targets, samples: 1 });
    const written = await world.deps.store.getJson(chains);
    const { turns } = await world.deps.store.getJson(tests);
    for (const { problemId, chainSample, stage, promptTokens } of turns) {
      const chain = written.find((one) => one.problemId === problemId && one.sample === chainSample)!;
      const work = chain.turns.find((turn) => turn.stage === stage)!.text;
      assert.ok(work.length > 0);
      assert.ok(world.engine.decode(promptTokens).includes(work), `stage ${stage}`);
    }
  });

  it('uses no hidden test in a training step', async () => {
    const hidden = 7;
    const seen: unknown[] = [];
    const run = world.sandbox.run.bind(world.sandbox);
    world.engine.generate = async (rows) => rows.map(() => ({ tokens: [0], finished: true })); // the models write nothing
    world.sandbox.run = async (jobs) => {
      seen.push(...jobs.flatMap((job) => job.inputs.flat()));
      return run(jobs);
    };
    const prepared = await acts.prepareRun({ runId: 'run', input: SMALL_RUN });
    const position = { stage: 1, epoch: 1, phase: 'generator', step: 1, role: 'generator' } as const;
    const batch = { kind: 'train', role: 'generator', position } as const;
    const { chains } = await acts.generateChains({ run: prepared.run, batch, stages: [1, 2, 3, 4, 5] });
    await acts.executeSuite({ run: prepared.run, per: 'problem', suite: 'baseline', chains });
    assert.ok(!seen.includes(hidden));
  });

  it('rejects a run id that exists with another configuration', async () => {
    await acts.prepareRun({ runId: 'run', input: SMALL_RUN });
    await assert.rejects(acts.prepareRun({ runId: 'run', input: { ...SMALL_RUN, seed: 9 } }), {
      type: 'RUN_EXISTS',
      nonRetryable: true,
    });
  });

  it('rejects an invalid configuration in one line and without retries', async () => {
    const bad = acts.prepareRun({ runId: 'run', input: { preset: 'huge' } });
    await assert.rejects(bad, { type: 'BAD_CONFIG', nonRetryable: true, message: /unknown 'huge'/ });
  });
});

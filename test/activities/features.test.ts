// Features beyond the tiny preset: each option reaches the engine, and a run with it completes.
import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { decodeOptimizerState } from '../../chains/artifacts.js';
import { openScope } from '../../chains/scope.js';
import { lossOf } from '../../chains/train/update.js';
import { meanStats, updatePolicy } from '../../chains/train/updatePolicy.js';
import { resolveConfig } from '../../core/config/presets.js';
import type { Problem } from '../../core/schema/problem.js';
import type { Trajectory } from '../../core/schema/trajectory.js';
import type { Activities } from '../../method/activities.js';
import type { UpdatePolicyInput } from '../../method/train.js';
import { loadCheckpoint } from '../../store/checkpoints.js';
import { readMetrics, readRun } from '../../store/runs.js';
import { type Doubles, memoryDoubles as doubles, FakeEngine, problemSet, SMALL_RUN } from '../support/doubles.js';
import { runPipeline, solve } from '../support/runs.js';

const POSITION = { stage: 5, phase: 'generator', epoch: 1, step: 1, role: 'generator' } as const;

describe('training with optional features', () => {
  let world: Doubles;
  let acts: Activities;
  let leaf: Activities;
  beforeEach(async () => {
    world = await doubles();
    acts = createActivities(world.deps);
    leaf = createActivities(world.deps);
  });

  const steps = async (runId: string) =>
    (await readMetrics(world.deps.store, runId)).filter((record) => record.kind === 'step');

  /** Scored rows of two samples. The second sample is trained at two places. */
  async function scored(config: object, runId = 'run'): Promise<Trajectory[]> {
    const { run, state } = await acts.prepareRun({ runId, input: { ...SMALL_RUN, ...config } });
    const rows: Trajectory[] = [
      { tokens: [40, 41, 42], mask: [0, 1, 1], oldLogprobs: [0, 0, 0], advantage: 0 },
      { tokens: [40, 41, 42, 43], mask: [0, 1, 0, 1], oldLogprobs: [0, 0, 0, 0], advantage: 0 },
    ];
    const { adapter } = state.generator;
    const trajectories = await world.deps.store.putJson(rows);
    const out = await leaf.scoreOldPolicy({ run, role: 'generator', trajectories, adapter });
    return world.deps.store.getJson(out.trajectories);
  }

  it('computes log-probs of the base model for the KL penalty', async () => {
    const adapters: unknown[] = []; // first the scores, then the base's log-probs
    const logprobs = world.engine.logprobs.bind(world.engine);
    world.engine.logprobs = (rows, options) => {
      adapters.push(options.adapter);
      return logprobs(rows, options);
    };
    const rows = await scored({ ppo: { ...SMALL_RUN.ppo, klCoefficient: 0.1 } });
    assert.deepEqual([adapters.length, adapters[0] === undefined, adapters[1] === undefined], [2, false, true]);
    const base = await world.engine.logprobs(rows, { temperature: 1 });
    rows.forEach((row, r) => {
      assert.deepEqual(
        row.referenceLogprobs,
        row.mask.map((bit, t) => (bit ? base[r]![t] : 0)),
      );
    });
    assert.equal((await scored({}, 'without'))[0]!.referenceLogprobs, undefined);
  });

  it('resumes an interrupted update and gives the same bytes', async () => {
    const input = { ...SMALL_RUN, ppo: { ...SMALL_RUN.ppo, epochs: 4, minibatch: 1 } };
    const { run, state } = await acts.prepareRun({ runId: 'run', input });
    const rows = [1, -1].map((advantage) => {
      const mask = [0, 1, 1];
      return { tokens: [40, 41, 42], mask, oldLogprobs: [0, 0, 0], advantage };
    });
    const { optimizer: _, ...weights } = state.generator;
    const trajectories = await world.deps.store.putJson(rows);
    const given = await leaf.scoreOldPolicy({ run, role: 'generator', trajectories, ...weights });
    const update: UpdatePolicyInput = {
      run,
      role: 'generator',
      position: POSITION,
      trajectories: given.trajectories,
      state: state.generator,
      learningRate: 0.001,
    };
    const whole = await updatePolicy(openScope(world.deps), update);
    const gradients = world.engine.gradients.bind(world.engine);
    let calls = 0;
    world.engine.gradients = async (...asked) => {
      if (++calls === 5) throw new Error('killed');
      return gradients(...asked);
    };
    const scope = { ...openScope(world.deps), saveEveryMs: 0 };
    await assert.rejects(updatePolicy(scope, update), /killed/);
    assert.deepEqual((await updatePolicy(scope, update)).state, whole.state);
    assert.equal(calls, 5 + 4); // four of eight minibatches were saved
  });

  it('enables configured loss terms and uses a different dropout mask for every minibatch', async () => {
    const key = [1, 2] as const;
    const off = { clipHigh: undefined, average: 'token', entropyBonus: 0, klCoefficient: 0 };
    assert.deepEqual(lossOf(resolveConfig(), key), {
      clip: 0.2,
      temperature: 1,
      ...off,
      dropout: { rate: 0, key },
    });
    const all = resolveConfig({
      ppo: { clipHigh: 0.28, average: 'sequence', entropyBonus: 0.01, klCoefficient: 0.05 },
      lora: { dropout: 0.1 },
    });
    assert.deepEqual(lossOf(all, key), {
      clip: 0.2,
      clipHigh: 0.28,
      temperature: 1,
      average: 'sequence',
      entropyBonus: 0.01,
      klCoefficient: 0.05,
      dropout: { rate: 0.1, key },
    });
    await runPipeline(acts, 'run', { ...SMALL_RUN, lora: { dropout: 0.1 }, ppo: { ...SMALL_RUN.ppo, minibatch: 4 } });
    const keys = world.engine.losses.map(({ dropout }) => dropout!.key.join());
    assert.ok(keys.length > 12);
    assert.equal(new Set(keys).size, keys.length);
  });

  it('averages each statistic over the minibatches that have it', () => {
    const plain = { loss: 1, ratio: 1, approxKl: 0, clipFraction: 0, entropy: 0, gradNorm: 2, tokens: 10 };
    const mean = meanStats([
      { ...plain, kl: 1, exactEntropy: 0.5 },
      { ...plain, kl: 3, tokens: 30 },
    ]);
    assert.deepEqual([mean.kl, mean.exactEntropy, mean.policyLoss, mean.tokens], [2.5, 0.5, undefined, 40]);
  });

  it('trains, repeats a step and solves problems without any reference solution', async () => {
    const { train, validation, test } = problemSet();
    const open = (problems: Problem[]) => problems.map(({ referenceSolution: _, ...problem }) => problem);
    const set = { train: open(train), validation: open(validation), test: open(test) };
    const own = await doubles({ loadProblems: async () => set });
    const ids = new Set<string>();
    const execute = own.sandbox.run.bind(own.sandbox);
    own.sandbox.run = (jobs) => {
      for (const { id } of jobs) ids.add(id.split(':')[0]!);
      return execute(jobs);
    };
    const activities = createActivities(own.deps);
    const input = { ...SMALL_RUN, problems: 'own.jsonl', reference: 'none' as const };
    const result = await runPipeline(activities, 'run', input);
    assert.ok(result.after.passRate > result.before.passRate, `${result.after.passRate} > ${result.before.passRate}`);
    const updates = (await readMetrics(own.deps.store, 'run')).filter((record) => record.kind === 'step');
    for (const { voteAgreement, voteDropped, voteErrors } of updates)
      assert.ok([voteAgreement, voteDropped, voteErrors].every((share) => share! >= 0 && share! <= 1));
    assert.ok(
      updates.some(({ voteDropped }) => voteDropped! < 1),
      'some tests count',
    );
    assert.ok(ids.has('vote') && !ids.has('reference'));
    assert.deepEqual(
      [result.after.testValidity, result.after.bugCatchRate],
      [undefined, undefined],
      'nothing judges them',
    );
    assert.equal((await solve(activities, { checkpoint: { runId: 'run', name: 'latest' }, tests: true })).problems, 6);
  });

  it('uses one adapter and one optimizer for both roles in unified mode', async () => {
    const result = await runPipeline(acts, 'run', { ...SMALL_RUN, mode: 'unified' });
    assert.equal(result.digests.generator, result.digests.discriminator);
    const { files } = await loadCheckpoint(world.deps.store, 'run', 'latest');
    assert.deepEqual(
      [...files.keys()].filter((path) => /adapter|optimizer/.test(path)),
      ['generator/adapter_config.json', 'generator/adapter_model.safetensors', 'optimizer_generator.bin'],
    );
    const minibatches = world.engine.calls.filter((call) => call === 'applyUpdate').length;
    assert.equal(decodeOptimizerState(files.get('optimizer_generator.bin')!).step, minibatches);
    const seen = new Set<number>();
    const generate = world.engine.generate.bind(world.engine);
    world.engine.generate = (rows, options) => {
      seen.add(options.adapter!.values[0]!);
      return generate(rows, options);
    };
    await solve(acts, { checkpoint: { runId: 'run', name: 'latest' }, split: 'validation', tests: true });
    assert.equal(seen.size, 1);
  });

  it('samples and trains each role with its own base model', async () => {
    const other = new FakeEngine();
    Object.assign(other.info, { digest: `sha256:${'e'.repeat(64)}` });
    const two = createActivities({
      ...world.deps,
      engine: async (model) => (model === 'other' ? other : world.engine),
    });
    const input = { ...SMALL_RUN, discriminator: { model: 'other' } };
    const result = await runPipeline(two, 'run', input);
    assert.ok(['generate', 'logprobs', 'gradients'].every((call) => other.calls.includes(call)));
    assert.notEqual(result.digests.generator, result.digests.discriminator);
    const { metadata } = await loadCheckpoint(world.deps.store, 'run', 'best');
    const names = [metadata.modelDigest, metadata.discriminatorModelDigest];
    assert.deepEqual(names, [world.engine.info.digest, other.info.digest]);
    assert.equal((await readRun(world.deps.store, 'run')).discriminatorModelDigest, other.info.digest);
    const solved = await solve(two, { checkpoint: { runId: 'run', name: 'best' }, tests: true, limit: 2 });
    assert.equal(solved.problems, 2);
    Object.assign(other.info, { digest: `sha256:${'f'.repeat(64)}` });
    await assert.rejects(two.prepareRun({ runId: 'run', input }), {
      type: 'RUN_EXISTS',
      message: /another discriminatorModelDigest/,
    });
  });

  it('trains chains that have only stage 5', async () => {
    const result = await runPipeline(acts, 'run', { ...SMALL_RUN, stages: [5], schedule: { generatorSteps: 2 } });
    assert.ok(result.after.passRate > result.before.passRate);
    assert.ok((await steps('run')).every(({ stage }) => stage === 5));
    const solved = await solve(acts, { checkpoint: { runId: 'run', name: 'best' }, tests: true, limit: 2 });
    const chains = await world.deps.store.getJson(solved.chains);
    assert.ok(chains.every(({ turns }) => turns.length === 1 && turns[0]!.stage === 5));
    const { turns } = await world.deps.store.getJson(solved.tests!);
    assert.deepEqual(
      turns.map(({ stage }) => stage),
      [5, 5],
    );
  });

  it('writes tests for every sample of a problem with targets all, and trains a group for each', async () => {
    const input = { ...SMALL_RUN, stages: [5], schedule: { alternatingSteps: 2 }, testTurns: 2 };
    await runPipeline(acts, 'run', { ...input, discriminator: { targets: 'all' } });
    const done = await steps('run');
    const read = async (role: 'generator' | 'discriminator') => {
      const { artifacts } = done.find((step) => step.role === role)!;
      const judged = await world.deps.store.getJson(artifacts.verdicts!);
      const suites = judged.map(({ candidates, turns }) => [candidates.length, turns.length]);
      return { suites, tests: await world.deps.store.getJson(artifacts.tests!) };
    };
    const [generator, discriminator] = [await read('generator'), await read('discriminator')];
    const { problems, samples } = SMALL_RUN.batch.generator;
    assert.equal(generator.tests.turns.length, 2 * problems * samples);
    assert.deepEqual(generator.suites, Array(problems).fill([samples, 2 * samples])); // one for all samples of a problem
    const targets = SMALL_RUN.batch.discriminator.problems * SMALL_RUN.batch.discriminator.samples;
    assert.deepEqual(discriminator.suites, Array(targets).fill([1, 4]));
    assert.equal(new Set(discriminator.tests.targets.map(({ chain }) => chain.index)).size, targets);
  });

  it('records the commit of a hub model in the manifest', async () => {
    const commit = 'c'.repeat(40);
    world.engine.info.path = `/cache/hub/models--some--model/snapshots/${commit}`;
    await acts.prepareRun({ runId: 'run', input: SMALL_RUN });
    const manifest = await readRun(world.deps.store, 'run');
    assert.deepEqual([manifest.modelRevision, manifest.discriminatorModelRevision], [commit, undefined]);
    world.engine.info.path = 'double';
    await acts.prepareRun({ runId: 'run', input: SMALL_RUN }); // digests decide whether two runs are the same
  });

  it('uses the sampling settings of the model for null, and those of the configuration for numbers', async () => {
    Object.assign(world.engine.info.generation, { temperature: 0.6, topK: 20 });
    const sampling = { ...SMALL_RUN.sampling, temperature: null, topP: null, topK: 3, repetitionPenalty: null };
    const { run, config } = await acts.prepareRun({ runId: 'run', input: { ...SMALL_RUN, sampling } });
    const expected = { temperature: 0.6, topP: 1, topK: 3, repetitionPenalty: 1 };
    assert.deepEqual({ ...config.sampling, ...expected }, config.sampling);
    const { runId, config: stored } = await readRun(world.deps.store, run.runId);
    assert.deepEqual([runId, stored.sampling], ['run', config.sampling], 'the manifest names the numbers');
  });

  it('filters the sampled distribution in evaluation and solving, but not in training', async () => {
    const sampling = { ...SMALL_RUN.sampling, topP: 0.9, topK: 20, repetitionPenalty: 1.1 };
    const { run } = await acts.prepareRun({ runId: 'run', input: { ...SMALL_RUN, sampling } });
    const cuts: unknown[] = [];
    const generate = world.engine.generate.bind(world.engine);
    world.engine.generate = (rows, options) => {
      cuts.push([options.topP, options.topK, options.repetitionPenalty]);
      return generate(rows, options);
    };
    const chain = async (batch: Parameters<Activities['generateReasoning']>[0]['batch']) =>
      (await leaf.generateReasoning({ run, batch, stage: 5 })).chains;
    const chains = await chain({ kind: 'train', role: 'generator', position: POSITION });
    await acts.generateTests({ run, targets: { kind: 'all-stages', chains, position: POSITION }, samples: 1 });
    assert.deepEqual(cuts, new Array(2).fill([undefined, undefined, undefined]));
    cuts.length = 0;
    const measured = await chain({ kind: 'evaluation', split: 'validation', problems: 2, greedy: false });
    await chain({ kind: 'solve', samples: 1, temperature: 0.5 });
    await acts.generateTests({ run, targets: { kind: 'evaluation', chains: measured }, samples: 1 });
    await acts.generateTests({ run, targets: { kind: 'all-stages', chains: measured }, samples: 1 });
    assert.deepEqual(cuts, new Array(4).fill([0.9, 20, 1.1]));
  });
});

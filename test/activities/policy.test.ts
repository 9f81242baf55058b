import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { openRole } from '../../chains/artifacts.js';
import { openScope } from '../../chains/scope.js';
import { lossOf } from '../../chains/train/update.js';
import { meanStats, updatePolicy as timedUpdate } from '../../chains/train/updatePolicy.js';
import type { Ref } from '../../core/base/ref.js';
import { planMinibatches } from '../../core/rl/schedules.js';
import type { Chain } from '../../core/schema/chain.js';
import type { Trajectory } from '../../core/schema/trajectory.js';
import type { Activities } from '../../method/activities.js';
import type { PrepareRunOutput } from '../../method/prepare.js';
import type { UpdatePolicyInput } from '../../method/train.js';
import type { Engine, GenerateRequest } from '../../ml/engine/engine.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { temporaryFolder } from '../infra/support.js';
import { type Doubles, memoryDoubles as doubles, SMALL_RUN } from '../support/doubles.js';
import { writeRandomModel } from '../support/randomModel.js';

const POSITION = { stage: 2, phase: 'generator', epoch: 2, step: 2, role: 'generator' } as const;
const BATCH = { kind: 'train', role: 'generator', position: POSITION } as const;
const CONFIG = {
  ...SMALL_RUN,
  sampling: { maxNewTokens: 6, maxTestTokens: 5 },
  batch: { generator: { problems: 3, samples: 2 }, discriminator: { problems: 2, samples: 2 } },
  ppo: { epochs: 2, minibatch: 2, warmupSteps: 0 },
};

/** The output without the time of earlier attempts. */
async function updatePolicy(...given: Parameters<typeof timedUpdate>) {
  const { earlierSeconds: _, ...updated } = await timedUpdate(...given);
  return updated;
}

describe('activities that use the engine', () => {
  let model: string;
  let engine: Engine;
  let world: Doubles;
  let acts: Activities;
  let prepared: PrepareRunOutput;

  before(async () => {
    model = await writeRandomModel(temporaryFolder(), { context: 96 });
    engine = await openEngine(model, { workers: 1 });
  });
  after(async () => {
    await engine?.close();
  });
  beforeEach(async () => {
    world = await doubles({ engine: async () => engine });
    acts = createActivities(world.deps);
    prepared = await acts.prepareRun({ runId: 'run', input: CONFIG });
  });

  const adapterOf = async (weights: string) =>
    (await openRole(openScope(world.deps), prepared.run, 'generator')).adapter(weights);
  const chainsOf = (chains: Ref<Chain[]>) => world.deps.store.getJson(chains);

  it('append one turn to every chain and store the sampled tokens (generateReasoning)', async () => {
    const { run, state } = prepared;
    const { adapter } = state.generator;
    const one = await acts.generateReasoning({ run, batch: BATCH, stage: 1, adapter });
    const two = await acts.generateReasoning({ run, batch: BATCH, stage: 2, adapter, chains: one.chains });
    const [before, after] = [await chainsOf(one.chains), await chainsOf(two.chains)];
    assert.equal(before.length, 6);
    assert.deepEqual(
      after.map((chain) => chain.turns.slice(0, 1)),
      before.map((chain) => chain.turns),
    );
    assert.deepEqual(
      after.map((chain) => chain.turns.map((turn) => turn.stage)),
      new Array(6).fill([1, 2]),
    );
    const answers = after.flatMap((chain) => chain.turns.map((turn) => turn.answerTokens));
    assert.ok(answers.every((tokens) => tokens.length > 0 && tokens.length <= 6));
    assert.equal(one.tokens, before.flatMap((chain) => chain.turns[0]!.answerTokens).length);
    assert.notDeepEqual(before[0]!.turns, before[1]!.turns); // each sample of a problem has its own random draws
  });

  it('pass the ranges of sampled tokens to the engine (generateReasoning)', async () => {
    const { run } = prepared;
    const asked: GenerateRequest[][] = [];
    const listening = Object.create(engine, {
      generate: {
        value: (...given: Parameters<Engine['generate']>) => {
          asked.push(given[0]);
          return engine.generate(...given);
        },
      },
    });
    const listened = createActivities({ ...world.deps, engine: async () => listening });
    const { chains } = await listened.generateReasoning({ run, batch: BATCH, stage: 1 });
    await listened.generateReasoning({ run, batch: BATCH, stage: 2, chains });
    const answers = (await chainsOf(chains)).map(({ turns }) => [turns[0]!.answerTokens]);
    const sampled = ({ prompt, sampled = [] }: GenerateRequest) => sampled.map(([from, to]) => prompt.slice(from, to));
    assert.deepEqual(asked[0]!.map(sampled), new Array(6).fill([]));
    assert.deepEqual(asked[1]!.map(sampled), answers);
  });

  it('truncate a chain that fills the context (generateReasoning)', async () => {
    const { run } = prepared;
    const [first] = await chainsOf((await acts.generateReasoning({ run, batch: BATCH, stage: 1 })).chains);
    const turn = { ...first!.turns[0]!, answerTokens: new Array<number>(96).fill(20) };
    const chains = await world.deps.store.putJson([{ ...first!, turns: [turn] }, first!]);
    const out = await chainsOf((await acts.generateReasoning({ run, batch: BATCH, stage: 2, chains })).chains);
    assert.deepEqual([out[0]!.turns[1]!.answerTokens, out[0]!.turns[1]!.truncated], [[], true]);
    assert.ok(out[1]!.turns[1]!.answerTokens.length > 0);
  });

  it('sample one turn per target and sample, only from the tested stage (generateTests)', async () => {
    const { run } = prepared;
    let chains: string | undefined;
    for (const stage of [1, 2, 3, 4, 5] as const) {
      chains = (await acts.generateReasoning({ run, batch: { ...BATCH }, stage, chains })).chains;
    }
    const input = { run, targets: { kind: 'all-stages', chains: chains!, position: POSITION }, samples: 2 } as const;
    const batch = await world.deps.store.getJson((await acts.generateTests(input)).tests);
    assert.equal(batch.targets.length, 15);
    assert.deepEqual(
      batch.turns.slice(0, 4).map((turn) => [turn.stage, turn.sample]),
      [
        [1, 0],
        [1, 1],
        [2, 0],
        [2, 1],
      ],
    );
    const list = await chainsOf(chains!);
    for (const [t, { chain, stage }] of batch.targets.entries()) {
      const prompt = engine.decode(batch.turns[2 * t]!.promptTokens);
      const turns = list[chain.index]!.turns;
      assert.ok(prompt.includes(turns.find((turn) => turn.stage === stage)!.text.trim()));
    }
  });

  it('sample the turns of a stage with the adapter that was frozen for it (generateTests)', async () => {
    const { run, state } = prepared;
    const other = (await acts.prepareRun({ runId: 'other', input: { ...CONFIG, seed: 9 } })).state.discriminator
      .adapter;
    const { adapter } = state.discriminator;
    let chains: Ref<Chain[]> | undefined;
    for (const stage of [1, 2] as const)
      chains = (await acts.generateReasoning({ run, batch: BATCH, stage, chains })).chains;
    const { store } = world.deps;
    const targets = await store.putJson(
      ([1, 2] as const).map((stage) => ({ problemId: 'add-1', chain: { chains: chains!, index: 0 }, stage })),
    );
    const turns = async (policy: object) => {
      const input = { run, targets: { kind: 'selected', targets, position: POSITION }, samples: 1, ...policy } as const;
      return (await store.getJson((await acts.generateTests(input)).tests)).turns;
    };
    const [mixed, alone] = [await turns({ adapter, frozen: { 1: other } }), await turns({ adapter })];
    assert.deepEqual(mixed[0], (await turns({ adapter: other }))[0]);
    assert.deepEqual(mixed[1], alone[1]);
  });

  it('compute log-probs of the tempered policy only for trained tokens (scoreOldPolicy)', async () => {
    const { run, state, config } = prepared;
    const rows = trajectories();
    const adapter = await adapterOf(state.generator.adapter);
    const scored = await acts.scoreOldPolicy({
      run,
      role: 'generator',
      trajectories: await world.deps.store.putJson(rows),
      adapter: state.generator.adapter,
    });
    const expected = await engine.logprobs(rows, { adapter, temperature: config.sampling.temperature! });
    const got = await world.deps.store.getJson(scored.trajectories);
    got.forEach((row, r) => {
      row.oldLogprobs.forEach((logprob, t) => {
        assert.equal(logprob, row.mask[t] ? expected[r]![t] : 0);
      });
    });
    assert.ok(got.some((row) => row.oldLogprobs.some((logprob) => logprob < 0)));
  });

  it('increase the probability of tokens with a positive advantage (updatePolicy)', async () => {
    const input = await updateInput();
    const out = await acts.updatePolicy(input);
    const score = async (digest: string): Promise<number[]> => {
      const adapter = await adapterOf(digest);
      const rows = await engine.logprobs(trajectories(), { adapter, temperature: 0.8 });
      return rows.map((row, r) => row.reduce((sum, logprob, t) => sum + logprob * trajectories()[r]!.mask[t]!, 0));
    };
    const [before, after] = [await score(input.state.adapter), await score(out.state.adapter)];
    trajectories().forEach(({ advantage }, r) => {
      assert.ok((after[r]! - before[r]!) * advantage > 0, `row ${r}: ${before[r]} → ${after[r]} at ${advantage}`);
    });
    assert.equal(
      out.stats.tokens,
      2 * trajectories().reduce((sum, row) => sum + row.mask.reduce((a, b) => a + b, 0), 0),
    );
  });

  it('record the ratios of the last epoch, which equal those of the scoring graph (updatePolicy)', async () => {
    const input = await updateInput();
    const { store } = world.deps;
    const rows = await store.getJson(input.trajectories);
    const { config } = prepared;
    let adapter = await adapterOf(input.state.adapter);
    let optimizer = engine.newOptimizerState(adapter);
    const { seed, ppo } = config;
    const path = [seed, 'minibatches', 'generator', POSITION.stage, POSITION.step];
    const expected: number[][] = [];
    for (const minibatch of planMinibatches(rows, 2, 2, path)) {
      const now = await engine.logprobs(minibatch, { adapter, temperature: config.sampling.temperature! });
      minibatch.forEach((row, i) => {
        const all = row.oldLogprobs.map((old, t) => Math.exp(now[i]![t]! - old));
        expected[rows.indexOf(row)] = all.filter((_, t) => row.mask[t] === 1); // the second epoch is last
      });
      const sums = await engine.gradients(minibatch, { adapter, loss: lossOf(config, [0, 0]) });
      const adamw = { ...ppo, eps: 1e-8, learningRate: input.learningRate };
      ({ adapter, state: optimizer } = await engine.applyUpdate(adapter, optimizer, sums, adamw));
    }
    const { ratios } = await acts.updatePolicy(input);
    const recorded = await store.getJson(ratios!);
    assert.deepEqual(
      recorded.map(({ length }) => length),
      [5, 5, 5, 5],
    );
    for (const [i, row] of recorded.entries())
      for (const [t, ratio] of row.entries())
        assert.ok(Math.abs(ratio - expected[i]![t]!) < 2e-5, `${i} ${t}: ${ratio}`);
    assert.ok(recorded.flat().some((ratio) => Math.abs(ratio - 1) > 1e-3));
  });

  it('resume from saved progress and give the same bytes (updatePolicy)', async () => {
    const input = await updateInput();
    const { store } = world.deps;
    const saved = () => store.listRunFiles('run', 'updates');
    const whole = await updatePolicy(openScope(world.deps), input);
    let calls = 0;
    const killed: Engine = Object.create(engine, {
      gradients: {
        value: (...given: Parameters<Engine['gradients']>) => {
          if (++calls === 3) throw new Error('killed');
          return engine.gradients(...given);
        },
      },
    });
    const saving = { ...openScope(world.deps), saveEveryMs: 0 };
    await assert.rejects(
      updatePolicy({ ...saving, deps: { ...world.deps, engine: async () => killed } }, input),
      /killed/,
    );
    assert.match((await saved()).join(), /^updates\/[0-9a-f]{64}\.state-2$/); // only the latest progress is kept
    const again = await updatePolicy({ ...saving, deps: { ...world.deps, engine: async () => killed } }, input);
    assert.equal(calls, 3 + 2); // two of four minibatches were saved
    assert.deepEqual(again, whole);
    const [state, ...others] = await saved();
    assert.ok(state !== undefined && others.length === 0);
    await store.writeRunFile('run', state, 'damaged');
    const repeated = await updatePolicy({ ...saving, deps: { ...world.deps, engine: async () => killed } }, input);
    assert.equal(calls, 3 + 2 + 4);
    assert.deepEqual(repeated, whole);
    await acts.removeUpdateFiles(input);
    assert.deepEqual(await saved(), []);
  });

  it('save progress when the worker begins to stop, and the rest when the activity is cancelled (updatePolicy)', async () => {
    const input = await updateInput();
    const { store } = world.deps;
    const saved = async () => (await store.listRunFiles('run', 'updates')).map((path) => path.split('.')[1]);
    const whole = await updatePolicy(openScope(world.deps), input);
    const [stopping, cancelling] = [new AbortController(), new AbortController()];
    const seen: unknown[] = [];
    let calls = 0;
    const stopped: Engine = Object.create(engine, {
      gradients: {
        value: async (...given: Parameters<Engine['gradients']>) => {
          calls++;
          if (calls === 1) return engine.gradients(...given);
          if (calls === 2) {
            stopping.abort();
            while ((await saved()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
            seen.push(await saved()); // happens while the second minibatch is computed
            return engine.gradients(...given);
          }
          seen.push(await saved());
          cancelling.abort(new Error('the grace period is over'));
          given[1].signal?.throwIfAborted();
          return engine.gradients(...given);
        },
      },
    });
    const deps = { ...world.deps, engine: async () => stopped };
    const scope = { ...openScope(world.deps), signal: cancelling.signal, deps: { ...deps, stopping: stopping.signal } };
    await assert.rejects(updatePolicy(scope, input), /the grace period is over/);
    assert.deepEqual(seen, [['state-1'], ['state-2']]);
    assert.deepEqual(await saved(), ['state-2']);
    calls = 0;
    const deaf = { ...openScope(world.deps), deps: { ...world.deps, engine: async () => counting } };
    const counting: Engine = Object.create(engine, {
      gradients: {
        value: (...given: Parameters<Engine['gradients']>) => {
          calls++;
          return engine.gradients(...given);
        },
      },
    });
    assert.deepEqual(await updatePolicy(deaf, input), whole);
    assert.equal(calls, 2, 'two of four minibatches were kept');
  });

  it('save progress if an attempt fails (updatePolicy)', async () => {
    const input = await updateInput();
    let calls = 0;
    const broken: Engine = Object.create(engine, {
      gradients: {
        value: (...given: Parameters<Engine['gradients']>) => {
          if (++calls === 4) throw new Error('the device was lost');
          return engine.gradients(...given);
        },
      },
    });
    const scope = { ...openScope(world.deps), deps: { ...world.deps, engine: async () => broken } };
    await assert.rejects(updatePolicy(scope, input), /the device was lost/);
    const whole = await updatePolicy(scope, input);
    assert.equal(calls, 4 + 1);
    await acts.removeUpdateFiles(input);
    assert.deepEqual(await updatePolicy(openScope(world.deps), input), whole);
  });

  it('report the seconds of all attempts whose progress was saved (updatePolicy)', async () => {
    const input = await updateInput();
    const { now } = performance;
    let clock = 0;
    let calls = 0;
    const clocked: Engine = Object.create(engine, {
      gradients: {
        value: (...given: Parameters<Engine['gradients']>) => {
          clock += 100_000; // in milliseconds
          if (++calls === 3) throw new Error('killed');
          return engine.gradients(...given);
        },
      },
    });
    const { updatePolicy } = createActivities({ ...world.deps, engine: async () => clocked });
    performance.now = () => clock;
    try {
      await assert.rejects(updatePolicy(input), /killed/);
      assert.equal((await updatePolicy(input)).seconds, 400); // four minibatches
      assert.equal(calls, 3 + 2);
      assert.equal((await updatePolicy(input)).seconds, 400);
    } finally {
      performance.now = now;
    }
  });

  it('change nothing without trajectories (updatePolicy)', async () => {
    const input = { ...(await updateInput()), trajectories: await world.deps.store.putJson([]) };
    const out = await acts.updatePolicy(input);
    assert.deepEqual([out.state.adapter, out.state.optimizer], [input.state.adapter, input.state.optimizer]);
    assert.deepEqual([out.stats.tokens, out.stats.ratio], [0, 1]);
  });

  it('reject a worker with a different model', async () => {
    const { bases } = prepared.run;
    const generator = { ...bases.generator, modelDigest: `sha256:${'0'.repeat(64)}` };
    const run = { ...prepared.run, bases: { ...bases, generator } };
    await assert.rejects(acts.generateReasoning({ run, batch: BATCH, stage: 1 }), {
      type: 'BAD_MODEL',
      nonRetryable: true,
    });
  });

  function trajectories(): Trajectory[] {
    return [1, -1, 0.5, -0.5].map((advantage, r) => {
      const tokens = Array.from({ length: 10 }, (_, t) => 20 + ((7 * r + 3 * t) % 40));
      const mask = tokens.map((_, t) => (t >= 4 && t < 9 ? 1 : 0));
      return { tokens, mask, oldLogprobs: mask.map(() => 0), advantage };
    });
  }

  async function updateInput(): Promise<UpdatePolicyInput> {
    const { run, state } = prepared;
    const rows = await world.deps.store.putJson(trajectories());
    const scored = await acts.scoreOldPolicy({
      run,
      role: 'generator',
      trajectories: rows,
      adapter: state.generator.adapter,
    });
    return { run, role: 'generator', position: POSITION, ...scored, state: state.generator, learningRate: 0.003 };
  }
});

describe('statistics of an update', () => {
  it('are means over trained tokens', () => {
    const stats = (loss: number, tokens: number) => ({
      loss,
      ratio: 1,
      approxKl: 0,
      clipFraction: 0,
      entropy: 0,
      gradNorm: 2,
      tokens,
    });
    const { loss, gradNorm, tokens } = meanStats([stats(1, 10), stats(4, 30)]);
    assert.deepEqual([loss, gradNorm, tokens], [3.25, 2, 40]);
  });
});

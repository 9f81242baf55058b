// Training through a server on loopback whose answers come from the same engine. Right answers give the same adapters as local
// sampling; wrong answers are never rewarded.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import { type OpenRole, openRole, writeAdapter } from '../../chains/artifacts.js';
import { rolloutSampler } from '../../chains/sample/remoteRollouts.js';
import { openScope, type Scope } from '../../chains/scope.js';
import { RandomStream } from '../../core/base/random.js';
import { resolveConfig } from '../../core/config/presets.js';
import { trainedRows } from '../../core/rl/trajectories.js';
import type { Chain } from '../../core/schema/chain.js';
import { runIdentity } from '../../core/schema/config.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import type { Trajectory } from '../../core/schema/trajectory.js';
import { ROOT } from '../../infra/root.mjs';
import type { Activities } from '../../method/activities.js';
import type { PrepareRunOutput } from '../../method/prepare.js';
import type { Adapter, Engine, GenerateRequest } from '../../ml/engine/engine.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { RolloutServer } from '../../ml/remote/rolloutServer.js';
import { digestJson } from '../../store/canonicalJson.js';
import { readMetrics } from '../../store/runs.js';
import type { Digest } from '../../store/store.js';
import { temporaryFolder } from '../infra/support.js';
import { type Doubles, FakeEngine, memoryDoubles, SMALL_RUN } from '../support/doubles.js';
import {
  type Completion,
  type CompletionBody,
  type Fault,
  type RolloutDouble,
  startRolloutDouble,
} from '../support/rolloutDouble.js';
import { runPipeline } from '../support/runs.js';

/** Records the requests to an engine, so that a server can sample the same tokens. */
function recorded<E extends Engine>(engine: E): { engine: E; request: (body: CompletionBody) => GenerateRequest } {
  const requests = new Map<string, GenerateRequest>();
  const nameOf = (prompt: number[], seed: number): string => JSON.stringify([prompt, seed]);
  const generate: Engine['generate'] = (rows, options) => {
    for (const row of rows) requests.set(nameOf(row.prompt, row.key[0] % 2 ** 31), row);
    return engine.generate(rows, options);
  };
  return {
    engine: Object.create(engine, { generate: { value: generate } }) as E,
    request: ({ prompt, seed }) => requests.get(nameOf(prompt, seed)) ?? { prompt, key: [seed, 0] },
  };
}

const remote = (double: RolloutDouble, adapters: string) => ({ endpoint: double.url, adapters });
const openServer = (config: ConstructorParameters<typeof RolloutServer>[0]) =>
  new RolloutServer({ ...config, retryMs: 1 });

describe('remote rollouts', () => {
  let folder: string;
  let double: RolloutDouble;
  beforeEach(async () => {
    folder = temporaryFolder();
  });
  afterEach(async () => {
    await double?.close();
  });

  it('do not change the identity of a run that has no server', () => {
    const config = resolveConfig({ preset: 'tiny' });
    assert.ok(!('rollouts' in config) && !('rollouts' in runIdentity(config)));
    const other = resolveConfig({ preset: 'tiny', rollouts: { endpoint: 'http://127.0.0.1:1', adapters: '/tmp' } });
    assert.notEqual(digestJson(runIdentity(config)), digestJson(runIdentity(other)));
  });

  it('end where the local engine ends: a server does not know the texts that end an answer', async () => {
    const answers = [
      { tokens: [5, 6, 7, 8], logprobs: [-1, -2, -3, -4], finished: false },
      { tokens: [5, 6], logprobs: [-1, -2], finished: false },
    ];
    const rolloutServer = () => ({ generate: async () => answers });
    const logprobs: Engine['logprobs'] = async (rows) =>
      rows.map(({ tokens }) => [0, ...[-1, -2, -3, -4].slice(0, tokens.length - 1)]);
    const role = { config: { rollouts: { maxKl: 1 } }, engine: { info: {}, logprobs }, served: async () => ({}) };
    const sampler = rolloutSampler(
      { deps: { rolloutServer } } as unknown as Scope,
      role as unknown as OpenRole,
      'sha256:0' as Digest,
    );
    const requests = answers.map((): GenerateRequest => ({ prompt: [1], key: [1, 2] }));
    const stopSequences = [[6, 7]];
    const ended = await sampler.generate(requests, { maxNewTokens: 4, temperature: 1, stopTokens: [9], stopSequences });
    assert.deepEqual(ended, [{ tokens: [5, 6, 7], logprobs: [-1, -2, -3], finished: true }, answers[1]]);
  });

  /** Calls an activity again until the server does not fail, as Temporal does. */
  function retried(activities: Activities, faults: string[]): Activities {
    const again = (call: (input: never) => Promise<unknown>) => async (input: never) => {
      for (;;) {
        try {
          return await call(input);
        } catch (error) {
          if ((error as { type?: string }).type !== 'ENDPOINT_FAULT') throw error;
          faults.push((error as Error).message);
        }
      }
    };
    return Object.fromEntries(
      Object.entries(activities).map(([name, call]) => [name, again(call as never)]),
    ) as unknown as Activities;
  }

  it('train the same adapters as local sampling, even on a server that often fails', async () => {
    const { engine, request } = recorded(new FakeEngine());
    const calm = await memoryDoubles({ engine: async () => engine });
    const input = { ...SMALL_RUN, stages: [5], schedule: { ...SMALL_RUN.schedule, stages: [5] } };
    const expected = await runPipeline(createActivities(calm.deps), 'run', input);

    double = await startRolloutDouble(engine, request);
    const random = new RandomStream('faults');
    const faults: Fault[] = [
      (_answer, response) => void response.destroy(),
      (_answer, response) => void response.writeHead(503).end(),
      (_answer, response) => void response.end('<html>'),
      (answer) => ({ ...answer, model: 'gauntlet-former' }),
      (answer) => ({ ...answer, choices: [{ ...answer.choices[0]!, token_ids: [300, 0] }] }),
      (answer) => ({ ...answer, choices: [{ ...answer.choices[0]!, logprobs: { token_logprobs: [] } }] }),
      (answer, response) => void setTimeout(() => response.end(JSON.stringify(answer)), 20),
    ];
    double.fault = (answer, response, body) => {
      if (random.uniform() < 0.001) double.loaded.clear(); // simulates a restart
      return random.uniform() < 0.3 ? random.choice(faults)(answer, response, body) : answer;
    };
    const world = await memoryDoubles({ engine: async () => engine, rolloutServer: openServer });
    const failures: string[] = [];
    const config = { ...input, rollouts: remote(double, folder) };
    const result = await runPipeline(retried(createActivities(world.deps), failures), 'run', config);
    assert.deepEqual(result.digests, expected.digests);
    assert.ok(double.completions > 50, `${double.completions}`);

    const steps = (await readMetrics(world.deps.store, 'run')).filter(
      (record): record is StepMetrics => record.kind === 'step' && record.rows > 0,
    );
    const { rolloutKl, rolloutDifference, truncatedFraction } = steps[0]!.update;
    assert.deepEqual([rolloutKl, rolloutDifference, truncatedFraction], [0, 0, 0]);
  });

  describe('with the shipped model', () => {
    const POSITION = { stage: 1, phase: 'generator', epoch: 1, step: 1, role: 'generator' } as const;
    const BATCH = { kind: 'train', role: 'generator', position: POSITION } as const;
    let engine: Engine;
    let world: Doubles;
    let activities: Activities;
    let prepared: PrepareRunOutput;
    let adapter: string;
    let lookUp: (body: CompletionBody) => GenerateRequest;

    before(async () => {
      const opened = await openEngine(join(ROOT, 'data', 'tiny-model'), { workers: 1 });
      ({ engine, request: lookUp } = recorded(opened));
    });
    after(() => engine?.close());

    const random = (base: Adapter, name: string): Adapter => {
      const stream = new RandomStream(name);
      return { ...base, values: base.values.map(() => 0.05 * stream.normal()) };
    };
    const settings = {
      ...SMALL_RUN,
      sampling: { temperature: 0.8, maxNewTokens: 24, maxTestTokens: 24 },
      batch: { generator: { problems: 4, samples: 4 }, discriminator: { problems: 2, samples: 2 } },
    };
    const initial = async (runId: string): Promise<Adapter> =>
      (await openRole(openScope(world.deps), prepared.run, 'generator')).adapter(
        (await activities.prepareRun({ runId, input: settings })).state.generator.adapter,
      );
    beforeEach(async () => {
      double = await startRolloutDouble(engine, lookUp);
      const deps = { engine: async () => engine, rolloutServer: openServer };
      world = await memoryDoubles(deps);
      activities = createActivities(world.deps);
      const rollouts = { ...remote(double, folder), maxKl: 0.2 };
      prepared = await activities.prepareRun({ runId: 'run', input: { ...settings, rollouts } });
      adapter = (await writeAdapter(world.deps.store, engine, random(await initial('plain'), 'adapter'))).weights;
    });

    const sample = async (run = prepared.run): Promise<Chain[]> => {
      const { chains } = await activities.generateReasoning({ run, batch: BATCH, stage: 1, adapter });
      return world.deps.store.getJson(chains);
    };
    const tokensOf = (chains: Chain[]): number[][] => chains.map(({ turns }) => turns[0]!.answerTokens);

    /** The adapter after a step on these chains. */
    const train = async ({ run, state }: PrepareRunOutput, chains: Chain[]) => {
      const rows = chains.flatMap(({ turns }, i) =>
        trainedRows(turns, 1, 'stage').map(
          (row): Trajectory => ({
            ...row,
            oldLogprobs: row.mask.map(() => 0),
            advantage: i % 2 ? 1 : -1,
          }),
        ),
      );
      const trajectories = await world.deps.store.putJson(rows);
      const scored = await activities.scoreOldPolicy({ run, role: 'generator', trajectories, adapter });
      const updated = await activities.updatePolicy({
        run,
        role: 'generator',
        position: POSITION,
        learningRate: 1e-3,
        trajectories: scored.trajectories,
        state: { ...state.generator, adapter },
      });
      const opened = await openRole(openScope(world.deps), run, 'generator');
      return { mismatch: scored.mismatch, trained: await opened.adapter(updated.state.adapter) };
    };

    it('give the same tokens and, up to rounding, the same update as local sampling', async () => {
      const local = await activities.prepareRun({ runId: 'local', input: settings });
      const [here, there] = [await sample(local.run), await sample()];
      assert.deepEqual(tokensOf(there), tokensOf(here));
      assert.ok(here.every(({ turns }) => turns[0]!.logprobs === undefined));
      const [own, other] = [await train(local, here), await train(prepared, there)];
      assert.equal(own.mismatch, undefined);
      assert.ok(other.mismatch!.rolloutKl < 1e-8 && other.mismatch!.rolloutDifference < 1e-4);
      assert.equal(other.mismatch!.truncatedFraction, 0);
      const start = await (await openRole(openScope(world.deps), prepared.run, 'generator')).adapter(adapter);
      const distance = (a: Adapter, b: Adapter): number =>
        Math.hypot(...a.values.map((value, i) => value - b.values[i]!));
      const [moved, apart] = [distance(own.trained, start), distance(own.trained, other.trained)];
      assert.ok(moved > 0 && apart < 0.01 * moved, `${apart} of ${moved}`);
    });

    it('are refused from a server that applies an old adapter, and then sampled again', async () => {
      const former = random(await initial('former'), 'former');
      double.applies = () => former;
      await sample((await activities.prepareRun({ runId: 'local', input: settings })).run); // records the requests
      await assert.rejects(sample(), /differ from the policy by [\d.]+ nats per token .rollouts.maxKl: 0.2/);
      assert.ok(double.paths.includes('/v1/unload_lora_adapter'));
      delete double.applies;
      assert.equal((await sample()).length, 16);
    });

    it('are refused from a server with another temperature', async () => {
      await sample((await activities.prepareRun({ runId: 'local', input: settings })).run);
      double.fault = (answer) => {
        const { logprobs } = answer.choices[0]!;
        logprobs.token_logprobs = logprobs.token_logprobs.map((logprob) => 3 * logprob);
        return answer;
      };
      await assert.rejects(sample(), /log-probs without the temperature/);
    });

    it('are sampled again if the server changed a token or a log-prob', async () => {
      const lenient = async (runId: string, maxKl: number) => {
        const rollouts = { ...remote(double, folder), maxKl };
        return (await activities.prepareRun({ runId, input: { ...settings, rollouts } })).run;
      };
      const right = await sample((await activities.prepareRun({ runId: 'local', input: settings })).run);
      const change = (answer: Completion): Completion => {
        answer.choices[0]!.logprobs.token_logprobs[0]! -= 6;
        return answer;
      };
      let changed = 0;
      double.fault = (answer) => (changed++ === 0 ? change(answer) : answer);
      const sampled = await sample(await lenient('lenient', 1e3));
      assert.equal(double.completions, 17);
      const others = tokensOf(sampled).filter((tokens, i) => tokens.join() !== tokensOf(right)[i]!.join());
      assert.ok(others.length <= 1);

      double.fault = change;
      await assert.rejects(sample(await lenient('hopeless', 1e4)), /made up tokens or log-probs of 16 of 16 answers/);
    });
  });
});

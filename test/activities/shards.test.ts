// A run whose batches are split into shards ends with the bytes of a run on one worker.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { createActivities } from '../../activities/index.js';
import { resolveConfig } from '../../core/config/presets.js';
import { countSharedMinibatches, countStepActivities, shardsOf, sliceOf } from '../../core/run/shards.js';
import { type Activities, callOf } from '../../method/activities.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import { readMetrics } from '../../store/runs.js';
import { shared as sharing } from '../../workflows/layers.js';
import { localHost } from '../../workflows/runState.js';
import { type Doubles, memoryDoubles, SMALL_RUN, TINIEST_RUN } from '../support/doubles.js';
import { type RunHooks, runPipeline } from '../support/runs.js';

describe('the slices of a list', () => {
  it('contain every item once and in order, whatever the number of slices', () => {
    for (const length of [0, 1, 5, 12])
      for (const count of [1, 2, 3, 7]) {
        const items = Array.from({ length }, (_, i) => i);
        const slices = shardsOf(count).map((shard) => sliceOf(items, shard));
        assert.deepEqual(slices.flat(), items);
        const sizes = slices.map((slice) => slice.length);
        assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1, `${sizes}`);
      }
  });
});

describe('a run whose batches are divided into shards', () => {
  const worlds: Doubles[] = [];
  afterEach(() => Promise.all(worlds.splice(0).map(({ folder }) => rm(folder, { recursive: true, force: true }))));

  async function world(): Promise<Doubles> {
    const opened = await memoryDoubles();
    worlds.push(opened);
    return opened;
  }

  /** Everything that a run leaves in the store, without times. */
  async function trained(
    { deps }: Doubles,
    config: object,
    activities: Activities = createActivities(deps),
    hooks: RunHooks = {},
  ) {
    const { trainingSeconds: _, ...result } = await runPipeline(activities, 'run', config, hooks);
    const checkpoints = (await listCheckpoints(deps.store, 'run')).map(({ name, files, score }) => [
      name,
      files,
      score,
    ]);
    const records = (await readMetrics(deps.store, 'run')).map((record) => {
      return { ...record, seconds: 0, tokensPerSecond: 0 };
    });
    return { result, checkpoints, records };
  }

  const features = {
    'five stages of LoRA': SMALL_RUN,
    'a KL penalty': { ...TINIEST_RUN, ppo: { ...SMALL_RUN.ppo, klCoefficient: 0.1 } },
    'several test turns': { ...SMALL_RUN, testTurns: 2 },
    'small minibatches': { ...SMALL_RUN, ppo: { ...SMALL_RUN.ppo, minibatch: 5 } },
    'adapters of each stage': { ...SMALL_RUN, adapters: 'per-stage' },
  };
  for (const [name, config] of Object.entries(features))
    it(`leaves the same records, checkpoints and adapters, and computes every row once: ${name}`, async () => {
      const [whole, shared] = [await world(), await world()];
      const expected = await trained(whole, config);
      assert.deepEqual(await trained(shared, { ...config, engine: { shards: 3 } }), expected);
      assert.deepEqual(shared.engine.rows, whole.engine.rows);
      assert.ok(shared.engine.calls.length > 2 * whole.engine.calls.length); // three workers could share the rows
    });

  it('gives the same bytes for any number of shards', async () => {
    const [expected, ...others] = await Promise.all(
      [1, 2, 5].map(async (shards) => trained(await world(), { ...TINIEST_RUN, engine: { shards } })),
    );
    for (const other of others) assert.deepEqual(other, expected);
  });

  it('computes the rows of a lost or damaged shard file again', async () => {
    for (const loss of ['lost', 'damaged', 'state lost'] as const) {
      const harmedWorld = await world();
      const { deps } = harmedWorld;
      const whole = createActivities(deps);
      let harmed = 0;
      const harming: Activities = {
        ...whole,
        async computeGradients(input) {
          const result = await whole.computeGradients(input);
          for (const path of await deps.store.listRunFiles('run', 'updates')) {
            const isState = path.includes('state-');
            if (isState !== (loss === 'state lost')) continue;
            harmed++;
            if (loss === 'damaged') await deps.store.writeRunFile('run', path, 'x'.repeat(100));
            else await deps.store.removeRunFile('run', path);
          }
          return result;
        },
      };
      const config = { ...SMALL_RUN, ppo: { ...SMALL_RUN.ppo, minibatch: 5 }, engine: { shards: 2 } };
      const calm = await trained(await world(), { ...config, engine: {} });
      assert.deepEqual(await trained(harmedWorld, config, harming), calm, loss);
      assert.ok(harmed > 0, loss);
    }
  });

  it('plans at most `countStepActivities` activities in a step, with every feature', async () => {
    for (const features of [{ testTurns: 2 }, {}]) {
      const config = { ...SMALL_RUN, ...features, ppo: { ...SMALL_RUN.ppo, minibatch: 5 } };
      const { deps } = await world();
      const whole = createActivities(deps) as unknown as Record<string, (input: object) => Promise<unknown>>;
      const counts: number[] = []; // counted from one step to the next
      let planned = 0;
      const counting = Object.entries(whole).map(([name, call]) => [
        name,
        async (input: object) => {
          planned++;
          const output = await call(input);
          if (name === 'removeUpdateFiles') {
            counts.push(planned);
            planned = 0;
          }
          return output;
        },
      ]);
      await trained(worlds.at(-1)!, { ...config, engine: { shards: 3 } }, Object.fromEntries(counting));
      const minibatches = config.ppo.epochs * Math.ceil(16 / 5);
      const most = countStepActivities(3, minibatches);
      assert.ok(counts.length >= 4);
      for (const count of [...counts, planned]) assert.ok(count <= most, `${count} are more than ${most}`);
    }
  });

  it('computes minibatches on one worker if its history has no room for more activities', async () => {
    const schedule = { stages: [5], discriminatorSteps: 0, generatorSteps: 1, alternatingSteps: 0 };
    const config = { ...TINIEST_RUN, schedule, ppo: { ...SMALL_RUN.ppo, epochs: 1, minibatch: 1 } };
    const { deps } = await world();
    const whole = createActivities(deps);
    const shared: number[] = [];
    const watching: Activities = {
      ...whole,
      async computeGradients(input) {
        shared.push(input.minibatch);
        return whole.computeGradients(input);
      },
    };
    const shards = 330; // above the configurable maximum, so that few minibatches fit
    assert.equal(countSharedMinibatches(shards), 5);
    const { ppo } = resolveConfig(config);
    const host = localHost(callOf(watching));
    const call = sharing(shards, host.runShards, ppo)(host.call());
    const calm = await trained(await world(), config);
    assert.deepEqual(await trained(worlds[0]!, config, watching, { call: () => call }), calm);
    assert.equal(Math.max(...shared), 4);
    const rows = calm.records.map((record) => ('rows' in record ? record.rows : 0));
    assert.ok(Math.max(...rows) > 5);
  });

  it('leaves no file of a shard behind', async () => {
    const { deps } = await world();
    await trained(worlds[0]!, { ...SMALL_RUN, engine: { shards: 2 } });
    assert.deepEqual(await deps.store.listRunFiles('run', 'updates'), []);
  });
});

// Trains with all features of PPO at once, on the real engine and a small random model.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import { uniformAt } from '../../core/base/random.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import { stepMetricsSchema } from '../../core/schema/metrics.js';
import type { RunResult } from '../../core/schema/run.js';
import type { Engine } from '../../ml/engine/engine.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import { readMetrics } from '../../store/runs.js';
import { temporaryFolder } from '../infra/support.js';
import { answer, memoryDoubles as doubles, SMALL_RUN } from '../support/doubles.js';
import { writeRandomModel } from '../support/randomModel.js';
import { runPipeline } from '../support/runs.js';

const ALL = {
  ...SMALL_RUN,
  stages: [5],
  schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 2, alternatingSteps: 0 },
  batch: { generator: { problems: 3, samples: 2 }, discriminator: { problems: 3, samples: 2 } },
  evaluation: { problems: 2, testProblems: 2 },
  sampling: { temperature: 0.8, maxNewTokens: 6, maxTestTokens: 6, topP: 0.9, topK: 40, repetitionPenalty: 1.1 },
  credit: 'suffix',
  lora: { rank: 4, alpha: 8, dropout: 0.1 },
  ppo: {
    clip: 0.2,
    clipHigh: 0.28,
    average: 'sequence',
    entropyBonus: 0.01,
    klCoefficient: 0.05,
    schedule: 'cosine',
    warmupSteps: 1,
    learningRate: 5e-3,
    epochs: 2,
    minibatch: 4,
  },
};

/** The real engine with the answers of the double, because all programs of a random model would get the same reward. */
function withAnswers(engine: Engine): Engine {
  const generate: Engine['generate'] = async (requests) =>
    requests.map(({ prompt, key }) => {
      const text = answer(engine.decode(prompt), uniformAt(key, 0), 0.5);
      return { tokens: [...engine.encode(text), ...engine.info.eosTokens.slice(0, 1)], finished: true };
    });
  return Object.create(engine, { generate: { value: generate } }) as Engine;
}

interface Trained {
  result: RunResult;
  steps: StepMetrics[];
  files: Record<string, string>;
}

describe('training with all features of PPO at once', () => {
  let folder: string;
  before(async () => {
    folder = temporaryFolder();
    await writeRandomModel(join(folder, 'model'), { context: 128 });
    await writeRandomModel(join(folder, 'other'), { context: 128, hidden: 16, layers: 1 });
  });

  async function train(workers: number, over: object = {}): Promise<Trained> {
    const open = async (name: string) => withAnswers(await openEngine(join(folder, name), { workers }));
    const [own, other] = [await open('model'), await open('other')];
    const world = await doubles({ engine: async (model) => (model === 'other' ? other : own) });
    const { store } = world.deps;
    try {
      const result = await runPipeline(createActivities(world.deps), 'run', { ...ALL, ...over });
      const records = await readMetrics(store, 'run');
      const steps = records.filter(({ kind }) => kind === 'step').map((record) => stepMetricsSchema.parse(record));
      return { result, steps, files: (await listCheckpoints(store, 'run')).at(-1)!.files };
    } finally {
      await Promise.all([own.close(), other.close(), rm(world.folder, { recursive: true, force: true })]);
    }
  }

  it('gives the same bytes for another number of workers, with plausible statistics', async () => {
    const one = await train(1);
    const two = await train(2);
    assert.deepEqual(two.files, one.files);
    assert.deepEqual(
      two.steps.map(({ update }) => update),
      one.steps.map(({ update }) => update),
    );
    for (const { update, rows, role } of one.steps) {
      for (const [name, value] of Object.entries(update)) assert.ok(Number.isFinite(value), `${name} ${value}`);
      assert.ok(rows > 0 && update.tokens > 0 && update.gradNorm > 0, role);
      assert.ok(update.exactEntropy! > 0 && update.kl! > 0 && update.ratio > 0);
    }
    const rates = one.steps.map(({ learningRate }) => learningRate / 5e-3);
    [1, 0.75, 0.25].forEach((rate, i) => {
      assert.ok(Math.abs(rates[i]! - rate) < 1e-9, `${rates}`);
    });
  });

  it('works with one adapter for both roles, and with two bases', async () => {
    const unified = await train(2, { mode: 'unified' });
    assert.equal(unified.result.digests.generator, unified.result.digests.discriminator);
    assert.ok(unified.steps.every(({ update }) => update.gradNorm > 0));
    const two = await train(2, { discriminator: { model: 'other' } });
    assert.ok(two.steps.every(({ update }) => update.gradNorm > 0));
    assert.notEqual(two.files['generator/adapter_config.json'], two.files['discriminator/adapter_config.json']);
  });
});

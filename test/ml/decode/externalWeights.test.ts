// Tests generation with mapped or quantized weights and a separate adapter.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deriveKey, RandomStream } from '../../../core/base/random.js';
import { ROOT } from '../../../infra/root.mjs';
import { DecodeSession } from '../../../ml/decode/decodeSession.js';
import { locateWeights } from '../../../ml/device/weightLocations.js';
import type { Generated, GenerateRequest } from '../../../ml/engine/engine.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { describeModel } from '../../../ml/hf/model.js';
import { type IdentifiedAdapter, layoutSize, loraLayout } from '../../../ml/nn/layout.js';
import { loadModel } from '../../support/loadModel.js';

const fixture = join(ROOT, 'test', 'ml', 'parity', 'generate');
const { generate: expected } = JSON.parse(readFileSync(join(fixture, 'expected.json'), 'utf8')) as {
  generate: { prompt: number[]; tokens: number[] }[];
};
const { config } = loadModel(fixture);
const sample = { maxNewTokens: 40, temperature: 0.8, stopTokens: [2] };
const greedy = { ...sample, temperature: 0 };
const rows = [1, 2, 30, 33, 60, 90].map((length, i): GenerateRequest => {
  const random = new RandomStream('planned', i);
  return { prompt: Array.from({ length }, () => random.int(3, 66)), key: deriveKey('planned', i) };
});
const noisy = (rank: number, digest: string): IdentifiedAdapter => {
  const random = new RandomStream(digest);
  const size = layoutSize(loraLayout(config, rank));
  return { rank, alpha: 8, digest, values: Float32Array.from({ length: size }, () => 0.2 * (random.uniform() - 0.5)) };
};

describe('generation with mapped weights', () => {
  const mapped = new DecodeSession(
    { config, locations: locateWeights(describeModel(fixture).stored) },
    config.contextLength,
  );
  after(() => mapped.close());

  it('greedy tokens equal those of transformers', async () => {
    mapped.use(undefined);
    const { answers } = await mapped.generate(
      expected.map(({ prompt }) => ({ prompt, key: [0, 0] as const })),
      greedy,
    );
    assert.deepEqual(
      answers.map(({ tokens }) => tokens),
      expected.map(({ tokens }) => tokens),
    );
  });

  it('a separate adapter equals a merged one, and another adapter of its shape can replace it', async () => {
    const joined = new DecodeSession(loadModel(fixture), config.contextLength);
    for (const adapter of [noisy(4, 'first'), noisy(4, 'second'), noisy(2, 'third')]) {
      mapped.use(adapter);
      joined.use(adapter);
      const [beside, merged] = [await mapped.generate(rows, greedy), await joined.generate(rows, greedy)];
      assert.deepEqual(beside.answers, merged.answers, adapter.digest);
    }
    await joined.close();
  });

  it('a sequence gets the same tokens and keys alone, in pairs and in the whole batch', async () => {
    mapped.use(noisy(4, 'first'));
    const whole = await mapped.generate(rows, sample, {}, 1e9);
    for (const size of [1, 2]) {
      const answers: Generated[] = [];
      for (let i = 0; i < rows.length; i += size) {
        const part = await mapped.generate(rows.slice(i, i + size), sample, {}, 1e9);
        answers.push(...part.answers);
        part.caches.forEach((cache, j) => {
          assert.deepEqual(cache, whole.caches[i + j]);
        });
      }
      assert.deepEqual(answers, whole.answers);
    }
  });
});

describe('threads of a session', () => {
  it('do not change tokens or keys, with mapped or fused weights', async () => {
    const locations = locateWeights(describeModel(fixture).stored);
    const joined = loadModel(fixture);
    for (const model of [{ config, locations }, joined]) {
      const results = [];
      for (const threads of [1, 2]) {
        const session = new DecodeSession(model, config.contextLength);
        session.use(undefined, threads);
        results.push(await session.generate(rows, sample, {}, 1e9));
        await session.close();
      }
      assert.deepEqual(results[1], results[0]);
    }
  });
});

describe('generation with quantized weights', () => {
  for (const bits of [4, 8] as const)
    it(`a sequence gets the same tokens in any batch and on any number of workers: ${bits} bits`, async () => {
      const quantization = { bits, groupSize: 16 };
      const [one, two] = [1, 2].map((workers) => openEngine(fixture, { workers, quantization }));
      const [single, pair] = [await one!, await two!];
      const adapter = noisy(4, 'few bits');
      const together = await pair.generate(rows, { ...sample, adapter });
      const alone: Generated[] = [];
      for (const row of rows) alone.push(...(await single.generate([row], { ...sample, adapter })));
      assert.deepEqual(alone, together);
      await single.close();
      await pair.close();
    });
});

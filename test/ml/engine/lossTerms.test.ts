// The optional terms of the loss do not depend on how the work is divided between workers.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { RandomStream } from '../../../core/base/random.js';
import { ROOT } from '../../../infra/root.mjs';
import { openEngine } from '../../../ml/engine/ortEngine.js';

const TEMPERATURE = 0.8;
const LOSS = {
  clip: 0.2,
  clipHigh: 0.3,
  temperature: TEMPERATURE,
  average: 'sequence',
  entropyBonus: 0.01,
  klCoefficient: 0.1,
  dropout: { rate: 0.1, key: [3, 4] },
} as const;

describe('gradients with every term and dropout', () => {
  it('are the same bits on one and two workers', async () => {
    const stream = new RandomStream('terms of the loss');
    const sumsWith = async (workers: number) => {
      const engine = await openEngine(join(ROOT, 'test', 'ml', 'parity', 'generate'), { workers });
      try {
        const initial = engine.initAdapter({ rank: 4, alpha: 8 }, 5);
        const adapter = { ...initial, values: initial.values.map((value, i) => value + 0.1 * Math.sin(i)) };
        const old = await engine.logprobs(rows, { adapter, temperature: TEMPERATURE });
        const reference = await engine.logprobs(rows, { temperature: TEMPERATURE });
        const trained = rows.map(({ tokens }, i) => ({
          tokens,
          mask: tokens.map((_, t) => (t > 5 ? 1 : 0)),
          oldLogprobs: old[i]!,
          referenceLogprobs: reference[i]!,
          advantage: i % 2 === 0 ? 1 : -0.5,
        }));
        return await engine.gradients(trained, { adapter, loss: LOSS });
      } finally {
        await engine.close();
      }
    };
    const rows = Array.from({ length: 19 }, (_, i) => ({
      tokens: Array.from({ length: 12 + ((i * 13) % 50) }, () => stream.int(3, 66)),
    }));
    const sums = await sumsWith(2);
    assert.equal(sums.divisor, rows.length);
    assert.ok(sums.kl! > 0 && sums.exactEntropy! > 0);
    assert.deepEqual(await sumsWith(1), sums);
  });
});

// The device that GAUNTLET_TEST_DEVICE names: its self-test, and one update of the shipped model.
import assert from 'node:assert/strict';
import { shippedModelPath } from '../../../data/paths.js';
import { checkHere } from '../../../ml/device/providers.js';
import type { Engine } from '../../../ml/engine/engine.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { relativeError } from '../../../ml/selfTest/selfTest.js';
import { testDevice } from '../../support/testDevice.js';

describe('a device other than the CPU (GAUNTLET_TEST_DEVICE)', () => {
  let cpu: Engine;
  let device: Engine;
  before(async function () {
    const name = testDevice(this);
    assert.equal(await checkHere(name), undefined);
    [cpu, device] = [
      await openEngine(shippedModelPath('tiny'), { workers: 1 }),
      await openEngine(shippedModelPath('tiny'), { device: name }),
    ];
  });
  after(() => Promise.all([cpu?.close(), device?.close()]));

  it('samples the same tokens as the CPU', async () => {
    const requests = [0, 1].map((i) => ({
      prompt: cpu.encode('def add(a, b):\n'.repeat(3 + i)),
      key: [7, i] as const,
    }));
    for (const temperature of [0, 1]) {
      const options = { maxNewTokens: 6, temperature, stopTokens: [] };
      assert.deepEqual(await device.generate(requests, options), await cpu.generate(requests, options));
    }
  });

  it('gives the same update as the CPU', async () => {
    const adapter = cpu.initAdapter({ rank: 4, alpha: 8 }, 1);
    adapter.values.forEach((x, i) => {
      adapter.values[i] = x || 0.01 * Math.sin(i); // B is zero, and the gradient of A with it
    });
    const tokens = cpu.encode('def add(a, b):\n  return a + b\n'.repeat(2));
    const [oldLogprobs] = await cpu.logprobs([{ tokens }], { adapter, temperature: 1 });
    const rows = [{ tokens, mask: tokens.map(() => 1), oldLogprobs: oldLogprobs!, advantage: 1 }];
    const update = async (engine: Engine) => {
      const sums = await engine.gradients(rows, { adapter, loss: { clip: 0.2, temperature: 1 } });
      const config = { learningRate: 1e-3, betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0, maxGradNorm: 1 } as const;
      const next = await engine.applyUpdate(adapter, engine.newOptimizerState(adapter), structuredClone(sums), config);
      return { gradients: sums.gradients, stats: next.stats };
    };
    const [theirs, ours] = [await update(cpu), await update(device)];
    assert.ok(relativeError(ours.gradients, theirs.gradients) < 1e-3);
    assert.ok(Math.abs(ours.stats.gradNorm / theirs.stats.gradNorm - 1) < 1e-3);
  });
});

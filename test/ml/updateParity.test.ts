// A sample of the recorded updates on random shapes (updateParity.system.test.ts has all), and updates in a row.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Trajectory } from '../../core/schema/trajectory.js';
import { ROOT } from '../../infra/root.mjs';
import type { AdamWConfig } from '../../ml/engine/engine.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { ADAPTER_FILES, readAdapterFolder } from '../../ml/hf/peft.js';
import { parseSafetensors } from '../../ml/hf/safetensors.js';
import { largest, near, testUpdates } from './updates.js';

describe('an update on random shapes', () => {
  // one first step and one later step of each architecture
  testUpdates(
    ({ config, steps }, before) =>
      !before.some((other) => other.config.model_type === config.model_type && other.steps === steps),
  );
});

/** One checkpoint and adapter that transformers and peft saved (recorded by parity/record_chain.py). */
describe('updates in a row', () => {
  const parity = join(ROOT, 'test', 'ml', 'parity');
  const model = join(parity, 'architectures', 'qwen2-tied-f32');
  interface Recorded {
    config: AdamWConfig & { clip: number };
    steps: {
      rows: Omit<Trajectory, 'advantage'>[];
      result: Record<'loss' | 'gradNorm' | 'approxKl' | 'clipFraction', number>;
    }[];
  }

  it('move the adapter as torch and peft do; entry 0 of a row has no effect', async () => {
    const { config, steps } = JSON.parse(readFileSync(join(parity, 'chain', 'chain.json'), 'utf8')) as Recorded;
    const truth = parseSafetensors(readFileSync(join(parity, 'chain', 'chain.safetensors')), 'chain');
    const engine = await openEngine(model, { workers: 1 });
    try {
      let adapter = engine.importAdapter(readAdapterFolder(join(model, 'adapter')));
      let state = engine.newOptimizerState(adapter);
      for (const [i, { rows, result }] of steps.entries()) {
        const options = { adapter, loss: { clip: config.clip, temperature: 1 } };
        const sums = await engine.gradients(
          rows.map((row) => ({ ...row, advantage: 0 })),
          options,
        );
        const odd = rows.map((row) => ({
          ...row,
          mask: [1, ...row.mask.slice(1)],
          oldLogprobs: [Number.NaN, ...row.oldLogprobs.slice(1)],
          advantages: [99, ...row.advantages!.slice(1)],
          advantage: 0,
        }));
        assert.deepEqual((await engine.gradients(odd, options)).gradients, sums.gradients);
        const next = await engine.applyUpdate(adapter, state, sums, config);
        ({ adapter, state } = next);
        assert.equal(state.step, i + 1);
        near(next.stats.loss, result.loss, 1e-4, 'loss');
        near(next.stats.gradNorm, result.gradNorm, 1e-3, 'gradient norm');
        near(next.stats.approxKl, result.approxKl, 1e-3, 'approxKl');
        assert.equal(next.stats.clipFraction, result.clipFraction);
        const moved = parseSafetensors(engine.exportAdapter(adapter).get(ADAPTER_FILES.weights)!, 'ours');
        assert.equal(moved.size, 28);
        for (const [name, { data }] of moved) {
          const worst = largest(data.map((x, j) => x - truth.get(`${i}.${name}`)!.data[j]!));
          assert.ok(worst <= 1e-3 * config.learningRate, `${name} after step ${i} is off by ${worst}`);
        }
      }
    } finally {
      await engine.close();
    }
  });
});

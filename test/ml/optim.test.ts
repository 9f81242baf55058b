// Compares AdamW with values computed by hand; parity.test.ts compares it with torch.
import assert from 'node:assert/strict';
import { adamwStep, clipFactor, globalNorm, newOptimizerState } from '../../ml/optim/adamw.js';

const CONFIG = { learningRate: 0.1, betas: [0.9, 0.999] as const, eps: 1e-8, weightDecay: 0.5, maxGradNorm: 1 };
const near = (a: number, b: number): void => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`);

describe('AdamW', () => {
  it('the first step decays every parameter and moves it by the learning rate against its gradient', () => {
    const { parameters, gradNorm, state } = adamwStep(
      Float32Array.of(1, -2),
      newOptimizerState(2),
      Float32Array.of(3, -4),
      CONFIG,
    );
    near(parameters[0]!, 1 * 0.95 - 0.1);
    near(parameters[1]!, -2 * 0.95 + 0.1);
    assert.equal(gradNorm, 5);
    assert.equal(state.step, 1);
    near(state.m[0]!, 0.1 * 0.6); // 3 is clipped by a norm of 5
    near(state.v[1]!, 0.001 * 0.64);
  });

  it('decays only the selected elements', () => {
    const config = { ...CONFIG, learningRate: 1, maxGradNorm: Number.POSITIVE_INFINITY };
    const { parameters } = adamwStep(
      Float32Array.of(1, 1),
      newOptimizerState(2),
      new Float32Array(2),
      config,
      (k) => k === 1,
    );
    assert.deepEqual([...parameters], [1, 0.5]);
  });

  it('changes no argument and is deterministic', () => {
    const [p, g, s] = [Float32Array.of(1, -2), Float32Array.of(3, -4), newOptimizerState(2)];
    const [first, second] = [adamwStep(p, s, g, CONFIG), adamwStep(p, s, g, CONFIG)];
    assert.deepEqual([[...p], [...g], s], [[1, -2], [3, -4], newOptimizerState(2)]);
    assert.deepEqual(first, second);
  });

  it('refuses vectors of other lengths and gradients that are not finite', () => {
    const [p, s] = [Float32Array.of(1, 2), newOptimizerState(2)];
    assert.throws(() => adamwStep(p, s, Float32Array.of(1), CONFIG), /2 parameters, 1 gradients and 2 moments/);
    assert.throws(() => adamwStep(p, newOptimizerState(1), Float32Array.of(1, 2), CONFIG), RangeError);
    assert.throws(() => adamwStep(p, s, Float32Array.of(1, Number.NaN), CONFIG), /not finite/);
  });

  it('clips by the global norm and keeps short gradients', () => {
    assert.equal(globalNorm(Float32Array.of(3, 4)), 5);
    near(clipFactor(5, 1), 0.2);
    assert.equal(clipFactor(0.5, 1), 1);
    assert.equal(clipFactor(1e9, Number.POSITIVE_INFINITY), 1);
  });
});

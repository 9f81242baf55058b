import assert from 'node:assert/strict';
import fc from 'fast-check';
import { whitenAdvantages } from '../../core/rl/advantages.js';
import { generalizedAdvantages } from '../../core/rl/gae.js';

const near = (a: readonly number[], b: readonly number[]): void => {
  assert.equal(a.length, b.length);
  a.forEach((v, t) => {
    assert.ok(Math.abs(v - b[t]!) < 1e-9 * Math.max(1, Math.abs(b[t]!)), `${t}: ${v} is not ${b[t]}`);
  });
};

/** Eq. 16 as it reads, over the steps alone: every discounted δ summed anew for every step. */
function bySum(rewards: number[], values: number[], gamma: number, lambda: number): number[] {
  const delta = rewards.map((r, t) => r + gamma * (values[t + 1] ?? 0) - values[t]!);
  return delta.map((_, t) => delta.slice(t).reduce((sum, d, l) => sum + (gamma * lambda) ** l * d, 0));
}

const number = fc.double({ min: -2, max: 2, noNaN: true });
const share = fc.double({ min: 0, max: 1, noNaN: true });
const steps = fc.array(fc.record({ reward: number, value: number, trained: fc.boolean() }), { maxLength: 25 });

describe('generalizedAdvantages', () => {
  it('is the sum of discounted temporal differences over the trained tokens, 0 elsewhere', () => {
    fc.assert(
      fc.property(steps, share, share, (all, gamma, lambda) => {
        const trained = all.filter((s) => s.trained);
        const expected = bySum(
          trained.map((s) => s.reward),
          trained.map((s) => s.value),
          gamma,
          lambda,
        );
        const { advantages, returns } = generalizedAdvantages(
          all.map((s) => (s.trained ? s.reward : Number.NaN)),
          all.map((s) => (s.trained ? s.value : Number.NaN)),
          { gamma, lambda, mask_T: all.map((s) => (s.trained ? 1 : 0)) },
        );
        const ofTrained = (list: number[]): number[] => list.filter((_, t) => all[t]!.trained);
        near(ofTrained(advantages), expected);
        near(
          ofTrained(returns),
          expected.map((a, k) => a + trained[k]!.value),
        );
        assert.ok([...advantages, ...returns].every((v, t) => all[t % all.length]!.trained || v === 0));
      }),
    );
  });

  it('is the future reward minus the value for λ = γ = 1, and one temporal difference for λ = 0', () => {
    const [rewards, values] = [
      [0, 0, 1],
      [0.2, 0.5, 0.4],
    ];
    near(generalizedAdvantages(rewards, values, { gamma: 1, lambda: 1 }).advantages, [0.8, 0.5, 0.6]);
    near(generalizedAdvantages(rewards, values, { gamma: 1, lambda: 1 }).returns, [1, 1, 1]);
    near(generalizedAdvantages(rewards, values, { gamma: 0.5, lambda: 0 }).advantages, [0.05, -0.3, 0.6]);
  });
});

describe('whitenAdvantages', () => {
  it('gives mean 0 and deviation 1 over all trained tokens, and 0 elsewhere', () => {
    const rows = [
      { mask: [0, 1, 1], advantages: [9, 1, 2] },
      { mask: [1, 0, 1], advantages: [4, 9, 5] },
    ];
    const whitened = whitenAdvantages(rows, { stdOffset: 0, negativeWeight: 1 });
    const deviation = Math.sqrt(2.5); // of 1, 2, 4, 5 around 3
    near(whitened.flat(), [0, -2 / deviation, -1 / deviation, 1 / deviation, 0, 2 / deviation]);
    const weighed = whitenAdvantages(rows, { stdOffset: 0, negativeWeight: 0.5 });
    near(weighed.flat(), [0, -1 / deviation, -0.5 / deviation, 1 / deviation, 0, 2 / deviation]);
  });
});

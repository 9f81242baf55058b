import assert from 'node:assert/strict';
import { argMax, Sampler } from '../../../ml/session/sampler.js';

const LOGITS = Float32Array.of(0.5, 2, -1, 2, 0, -8);

/** How often each token comes out over an even grid of uniforms. */
function counts(sampler: Sampler, options: { temperature: number; topP?: number }, n = 10_000): number[] {
  const out = new Array<number>(LOGITS.length).fill(0);
  for (let i = 0; i < n; i++) out[sampler.sample(LOGITS, 0, options, (i + 0.5) / n)]!++;
  return out;
}
function softmax(temperature: number): number[] {
  const e = [...LOGITS].map((x) => Math.exp(x / temperature));
  const z = e.reduce((a, b) => a + b, 0);
  return e.map((x) => x / z);
}

describe('sampler', () => {
  const sampler = new Sampler(LOGITS.length);

  it('an even grid of uniforms gives each token its share of the tempered softmax', () => {
    for (const temperature of [0.7, 1, 2])
      softmax(temperature).forEach((p, token) => {
        const seen = counts(sampler, { temperature })[token]!;
        assert.ok(Math.abs(seen - p * 10_000) <= 1, `token ${token}: ${seen} of ${p * 10_000}`);
      });
  });

  it('greedy takes the lowest index among the largest, at any offset', () => {
    assert.equal(sampler.sample(LOGITS, 0, { temperature: 0 }, 0.99), 1);
    assert.equal(argMax(Float32Array.of(9, 1, 3, 3), 1, 3), 1);
  });

  it('top-p keeps the fewest likeliest tokens that reach it, renormalised; ties keep the lower index', () => {
    const p = softmax(1);
    const two = counts(sampler, { temperature: 1, topP: p[1]! + p[3]! - 1e-9 });
    assert.deepEqual(
      two.map((n) => n > 0),
      [false, true, false, true, false, false],
    );
    assert.ok(Math.abs(two[1]! - 5000) <= 1);
    assert.equal(counts(sampler, { temperature: 1, topP: 1e-6 })[1], 10_000);
    assert.deepEqual(counts(sampler, { temperature: 1, topP: 1 }), counts(sampler, { temperature: 1 }));
  });

  it('the uniforms at both ends stay inside the vocabulary', () => {
    assert.equal(sampler.sample(LOGITS, 0, { temperature: 1 }, 2 ** -33), 0);
    assert.equal(sampler.sample(LOGITS, 0, { temperature: 1 }, 1 - 2 ** -33), 5);
  });
});

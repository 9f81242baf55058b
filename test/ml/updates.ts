// A whole policy update against torch, transformers, peft and AdamW over random shapes of all architectures (recorded by
// parity/record_updates.py). Random A and B: with B zero, as a fresh adapter has it, half of the gradient would be zero.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import type { AdamWConfig, Adapter } from '../../ml/engine/engine.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { parseModelConfig } from '../../ml/hf/config.js';
import { parseSafetensors, writeSafetensors } from '../../ml/hf/safetensors.js';
import { loraLayout, parameterLayout, viewsOf } from '../../ml/nn/layout.js';
import { temporaryFolder } from '../infra/support.js';
import { filled, uniform } from '../support/streams.js';

const FOLDER = process.env.GAUNTLET_UPDATES ?? join(ROOT, 'test', 'ml', 'parity');

interface Case {
  seed: number;
  config: Record<string, unknown>;
  rank: number;
  alpha: number;
  lengths: number[];
  advantages: 'token' | 'row';
  clip: number;
  temperature: number;
  optimizer: AdamWConfig;
  steps: number;
  momentScale: number;
  oldLogprobs: number[][];
  loss: number;
  gradNorm: number;
  approxKl: number;
  clipFraction: number;
  tokens: number;
}

function writeModel(folder: string, { seed, config: json }: Case): void {
  const layout = parameterLayout(parseModelConfig(json, 'recorded'));
  const parameters = filled(layout, (name, size) =>
    uniform(seed, name, size).map((u) => u * 0.6 + (name.endsWith('norm.weight') ? 1 : 0)),
  );
  mkdirSync(folder);
  writeFileSync(join(folder, 'config.json'), JSON.stringify(json));
  writeFileSync(join(folder, 'model.safetensors'), writeSafetensors(viewsOf(layout, parameters)));
}

function trajectories({ seed, config, lengths, advantages, oldLogprobs }: Case) {
  return lengths.map((length, b) => {
    const stream = (name: string) => uniform(seed, `row ${b} ${name}`, length);
    const mask = [...stream('mask')].map((u): number => (u < 0.2 ? 1 : 0));
    mask[length - 1] = 1;
    const perToken = [...stream('advantages').map((u) => 4 * u)];
    return {
      tokens: [...stream('tokens')].map((u) => Math.floor((u + 0.5) * (config.vocab_size as number))),
      mask,
      oldLogprobs: oldLogprobs[b]!,
      advantage: advantages === 'row' ? perToken[0]! : 0,
      ...(advantages === 'token' && { advantages: perToken }),
    };
  });
}

export const largest = (values: Float32Array): number => values.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
/** The largest difference of some entries, relative to the largest expected value of all entries. */
function errorOf(actual: Float32Array, expected: Float32Array, counts = (_: number): boolean => true): number {
  const gap = actual.reduce((most, x, i) => (counts(i) ? Math.max(most, Math.abs(x - expected[i]!)) : most), 0);
  return gap / largest(expected);
}
export const near = (actual: number, expected: number, tolerance: number, what: string): void =>
  assert.ok(Math.abs(actual - expected) <= tolerance * Math.abs(expected), `${what} ${actual} is not ${expected}`);

/** @param isTested whether to test a recorded case, which follows the cases in `before` */
export function testUpdates(isTested: (recorded: Case, before: readonly Case[]) => boolean): void {
  const { cases } = JSON.parse(readFileSync(join(FOLDER, 'updates.json'), 'utf8')) as { cases: Case[] };
  const root = temporaryFolder();
  const recorded = parseSafetensors(readFileSync(join(FOLDER, 'updates.safetensors')), 'updates.safetensors');

  it('is recorded for at least 24 shapes, eight per architecture', () => {
    const types = cases.map(({ config }) => config.model_type);
    for (const type of ['qwen2', 'qwen3', 'llama']) assert.ok(types.filter((t) => t === type).length >= 8, type);
  });

  for (const recordedCase of cases.filter((each, i) => isTested(each, cases.slice(0, i)))) {
    const { seed, config, rank, alpha, steps, momentScale, optimizer } = recordedCase;
    it(`moves every adapter tensor as torch does: ${config.model_type} ${seed}`, async () => {
      const folder = join(root, String(seed));
      writeModel(folder, recordedCase);
      const layout = loraLayout(parseModelConfig(config, 'recorded'), rank);
      const adapter: Adapter = {
        rank,
        alpha,
        values: filled(layout, (name, size) => uniform(seed, name, size).map((u) => u * 0.5)),
      };
      const past = steps > 0 ? momentScale : 0;
      const state = {
        step: steps,
        m: filled(layout, (name, size) => uniform(seed, `m ${name}`, size).map((u) => u * 2 * past)),
        v: filled(layout, (name, size) => uniform(seed, `v ${name}`, size).map((u) => (u + 1) * past * past)),
      };
      const engine = await openEngine(folder, { workers: 1 });
      try {
        const { clip, temperature } = recordedCase;
        const sums = await engine.gradients(trajectories(recordedCase), { adapter, loss: { clip, temperature } });
        const { adapter: moved, stats } = await engine.applyUpdate(adapter, state, sums, optimizer);
        near(stats.loss, recordedCase.loss, 1e-4, 'loss');
        near(stats.gradNorm, recordedCase.gradNorm, 1e-3, 'gradient norm');
        near(stats.approxKl, recordedCase.approxKl, 1e-3, 'approxKl');
        near(stats.clipFraction, recordedCase.clipFraction, 1e-6, 'clip fraction');
        assert.equal(stats.tokens, recordedCase.tokens);
        const mean = viewsOf(
          layout,
          sums.gradients.map((g) => g / stats.tokens),
        );
        const step = moved.values.map((x, i) => x - adapter.values[i]!);
        const gradients = viewsOf(layout, recorded.get(`${seed}.gradient`)!.data);
        const expected = viewsOf(layout, recorded.get(`${seed}.step`)!.data);
        for (const [name, { data }] of viewsOf(layout, step)) {
          const gradient = gradients.get(name)!.data;
          const gap = errorOf(mean.get(name)!.data, gradient); // the first step does not depend on the size of the gradient
          assert.ok(gap <= 1e-3, `${name}: error ${gap} of the largest gradient`);
          const threshold = 1e-3 * largest(gradient);
          // Adam's first step depends on the sign of the gradient, so a comparison means little near zero
          const error = errorOf(data, expected.get(name)!.data, (i) => Math.abs(gradient[i]!) > threshold);
          assert.ok(error <= 1e-2, `${name}: error ${error} of the largest step`);
        }
      } finally {
        await engine.close();
      }
    });
  }
}

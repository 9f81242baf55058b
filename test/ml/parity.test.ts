// The engine against torch, transformers and peft: recorded once on a small random Qwen2 by parity/record.py (the
// versions are in the fixture's metadata), repeated live by `npm run parity`. Relative tolerance 1e-4 for gradients and
// 1e-5 for values; the errors measured are about 1e-6.
import assert from 'node:assert/strict';
import { GraphSession, tensor } from '../../ml/device/runtime.js';
import { Graph } from '../../ml/ir/graph.js';
import type { DecoderConfig } from '../../ml/nn/config.js';
import { decoderForward } from '../../ml/nn/decoder.js';
import { layoutSize, loraLayout, parameterLayout, viewsOf } from '../../ml/nn/layout.js';
import { adamwStep, newOptimizerState } from '../../ml/optim/adamw.js';
import { relativeError } from '../../ml/selfTest/selfTest.js';
import { TrainSession } from '../../ml/train/trainSession.js';
import { RECORDED, RECORDED_CONFIG, Recorded } from './recorded.js';

const GRADIENT_TOLERANCE = 1e-4;
const VALUE_TOLERANCE = 1e-5;
const { rank, alpha, clip, temperature, rows: B, length: T } = RECORDED;

describe('parity with torch, transformers and peft', () => {
  let recorded: Recorded;
  let train: TrainSession;
  const adapter = { rank, alpha, values: new Float32Array(layoutSize(loraLayout(RECORDED_CONFIG, rank))) };

  before(() => {
    recorded = new Recorded();
    train = new TrainSession({ config: RECORDED_CONFIG, weights: recorded.all('base.') });
    const lora = recorded.all('lora.');
    for (const { name, offset } of loraLayout(RECORDED_CONFIG, rank)) adapter.values.set(lora.get(name)!.data, offset);
  });
  after(() => train.close());

  const row = (name: string, b: number): number[] => [...recorded.get(name).subarray(b * T, (b + 1) * T)];
  const tokens = (): number[][] => Array.from({ length: B }, (_, b) => row('ids', b));
  const trajectories = () =>
    tokens().map((ids, b) => ({
      tokens: ids,
      mask: row('mask', b),
      oldLogprobs: row('old', b),
      advantage: recorded.get('advantage')[b]!,
    }));
  const flat = (prefix: string, layout: ReturnType<typeof parameterLayout>): Float32Array => {
    const out = new Float32Array(layoutSize(layout));
    const values = recorded.all(prefix);
    for (const { name, offset } of layout) out.set(values.get(name)!.data, offset);
    return out;
  };

  it('logits of the base equal those of transformers', async () => {
    const g = new Graph();
    const net = decoderForward(g, RECORDED_CONFIG, { sequences: B, length: T });
    g.output('logits', g.gemm(net.hidden, net.head, { transB: true }));
    const session = await GraphSession.open(g);
    const feeds = Object.fromEntries([...recorded.all('base.')].map(([name, w]) => [name, tensor(w.data, w.shape)]));
    const ids = tensor(BigInt64Array.from(tokens().flat(), BigInt), [B * T]);
    const { logits } = await session.run({ ids, ...feeds });
    assert.ok(relativeError(logits!.data as Float32Array, recorded.get('logits')) < VALUE_TOLERANCE);
    await session.close();
  });

  it('scores the greedy tokens of transformers as the most likely ones', async () => {
    const [prompt, length] = [5, recorded.shape('greedy')[1]!];
    const g = new Graph();
    const net = decoderForward(g, RECORDED_CONFIG, { sequences: B, length });
    g.output('next', g.argMax(g.gemm(net.hidden, net.head, { transB: true }), -1));
    const session = await GraphSession.open(g);
    const feeds = Object.fromEntries([...recorded.all('base.')].map(([name, w]) => [name, tensor(w.data, w.shape)]));
    const expected = [...recorded.get('greedy')];
    const { next } = await session.run({ ids: tensor(BigInt64Array.from(expected, BigInt), [B * length]), ...feeds });
    const chosen = Array.from(next!.data as BigInt64Array, Number);
    expected.forEach((token, at) => {
      if (at % length >= prompt) assert.equal(chosen[at - 1], token, `token ${at}`);
    });
    await session.close();
  });

  it('tempered log-probs under a random LoRA equal those of peft', async () => {
    const scored = await train.score(
      tokens().map((t) => ({ tokens: t })),
      adapter,
      temperature,
    );
    assert.ok(scored.every((logprobs) => logprobs.length === T && logprobs[0] === 0));
    const error = relativeError(
      scored.flatMap((logprobs) => logprobs.slice(1)),
      recorded.get('ppo.logprobs'),
    );
    assert.ok(error < VALUE_TOLERANCE, `relative error ${error}`);
  });

  it('the PPO sums equal those of torch', async () => {
    const sums = await train.ppo(trajectories(), adapter, { clip, temperature });
    const actual = [sums.loss, sums.ratio, sums.approxKl, sums.clipped, sums.entropy, sums.tokens];
    recorded.get('ppo.sums').forEach((expected, i) => {
      assert.ok(
        Math.abs(actual[i]! - expected) <= VALUE_TOLERANCE * Math.max(1, Math.abs(expected)),
        `sum ${i}: ${actual[i]} is not ${expected}`,
      );
    });
  });

  it('the PPO gradient of every LoRA tensor equals that of peft', async () => {
    const { gradients } = await train.ppo(trajectories(), adapter, { clip, temperature });
    const views = viewsOf(loraLayout(RECORDED_CONFIG, rank), gradients);
    const expected = recorded.all('ppo.grad.');
    assert.deepEqual([...views.keys()].sort(), [...expected.keys()].sort());
    assert.equal(views.size, 2 * 7 * RECORDED_CONFIG.layers);
    for (const [name, { data }] of expected) {
      const error = relativeError(views.get(name)!.data, data);
      assert.ok(error < GRADIENT_TOLERANCE, `${name}: relative error ${error}`);
    }
  });

  it('gradients of shards add up to the gradient of the whole minibatch', async () => {
    const rows = trajectories();
    const parts = [
      await train.ppo(rows.slice(0, 2), adapter, { clip, temperature }),
      await train.ppo(rows.slice(2), adapter, { clip, temperature }),
    ];
    const layout = loraLayout(RECORDED_CONFIG, rank);
    const total = parts[0]!.gradients.map((x, i) => x + parts[1]!.gradients[i]!);
    assert.ok(relativeError(total, flat('ppo.grad.', layout)) < GRADIENT_TOLERANCE);
    assert.equal(parts[0]!.tokens + parts[1]!.tokens, recorded.get('ppo.sums')[5]);
  });

  for (const tied of [true, false]) {
    it(`the cross-entropy gradient of every parameter equals that of torch, embeddings ${tied ? 'tied' : 'untied'}`, async () => {
      const config: DecoderConfig = { ...RECORDED_CONFIG, tied };
      const layout = parameterLayout(config);
      const base = recorded.all('base.');
      if (!tied) base.set('lm_head.weight', recorded.all('untied.').get('lm_head.weight')!);
      const parameters = new Float32Array(layoutSize(layout));
      for (const { name, offset } of layout) parameters.set(base.get(name)!.data, offset);
      const session = new TrainSession({ config, weights: base });
      const prefix = tied ? 'sft.' : 'untied.sft.';
      const rows = tokens().map((ids, b) => ({ tokens: ids, mask: row('mask', b) }));
      const { gradients, lossSum, tokens: trained } = await session.sft(parameters, rows);
      await session.close();
      const loss = recorded.get(`${prefix}loss`)[0]!;
      assert.ok(Math.abs(lossSum - loss) < VALUE_TOLERANCE * loss, `loss ${lossSum} is not ${loss}`);
      assert.equal(trained, recorded.get('ppo.sums')[5]);
      const views = viewsOf(layout, gradients);
      const expected = recorded.all(`${prefix}grad.`);
      assert.deepEqual([...views.keys()].sort(), [...expected.keys()].sort());
      for (const [name, { data }] of expected) {
        const error = relativeError(views.get(name)!.data, data);
        assert.ok(error < GRADIENT_TOLERANCE, `${name}: relative error ${error}`);
      }
    });
  }

  it('two AdamW steps with clipping equal those of torch', () => {
    const layout = loraLayout(RECORDED_CONFIG, rank);
    const trained = recorded.get('ppo.sums')[5]!;
    const gradients = flat('ppo.grad.', layout).map((x) => x / trained);
    const config = { learningRate: 1e-3, betas: [0.9, 0.99] as const, eps: 1e-8, weightDecay: 0.01, maxGradNorm: 0.5 };
    let parameters: Float32Array = adapter.values;
    let state = newOptimizerState(parameters.length);
    for (const step of [1, 2]) {
      const before = parameters;
      const result = adamwStep(parameters, state, gradients, config);
      const norm = recorded.get(`adamw${step}.norm`)[0]!;
      assert.ok(Math.abs(result.gradNorm - norm) < VALUE_TOLERANCE * norm);
      ({ parameters, state } = result);
      // of the update, since the parameters agree even without a step
      const expected = flat(
        `adamw${step}.base_model`,
        layout.map((e) => ({ ...e, name: e.name.slice('base_model'.length) })),
      );
      const [ours, theirs] = [parameters, expected].map((p) => p.map((x, i) => x - before[i]!));
      assert.ok(relativeError(ours!, theirs!) < 1e-3, `step ${step}: ${relativeError(ours!, theirs!)}`);
      assert.ok(relativeError(parameters, expected) < 1e-6);
    }
    assert.equal(state.step, 2);
  });
});

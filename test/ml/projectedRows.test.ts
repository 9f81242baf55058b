// Tests that only rows with a trained token go through the output projection, and that this changes no result.
import assert from 'node:assert/strict';
import { deriveKey, uniformAt } from '../../core/base/random.js';
import { GraphSession, tensor } from '../../ml/device/runtime.js';
import { projectedRows } from '../../ml/loss/head.js';
import { buildPpoGraph } from '../../ml/loss/trainingGraph.js';
import type { DecoderConfig } from '../../ml/nn/config.js';
import { layoutSize, loraLayout, parameterLayout, viewsOf } from '../../ml/nn/layout.js';
import { Batch, ppoFeeds, ppoGraphLoss, ppoResult, trainedPositions } from '../../ml/train/batch.js';
import { TrainSession } from '../../ml/train/trainSession.js';

const CONFIG: DecoderConfig = {
  hidden: 16,
  layers: 1,
  heads: 2,
  kvHeads: 1,
  headDim: 8,
  ffn: 24,
  vocab: 5000,
  normEps: 1e-6,
  ropeTheta: 1e4,
  biases: [],
  qkNorm: false,
  tied: true,
};
const uniforms = (size: number, name: string): Float32Array => {
  const key = deriveKey(name);
  return Float32Array.from({ length: size }, (_, k) => 0.6 * (uniformAt(key, k) - 0.5));
};
const adapter = { rank: 2, alpha: 4 };
const layout = loraLayout(CONFIG, adapter.rank);
const values = uniforms(layoutSize(layout), 'adapter');
const weights = viewsOf(parameterLayout(CONFIG), uniforms(layoutSize(parameterLayout(CONFIG)), 'parameters'));
const rows = [90, 70, 81, 64].map((length, i) => {
  const key = deriveKey('row', i);
  const tokens = Array.from({ length }, (_, t) => Math.floor(uniformAt(key, t) * CONFIG.vocab));
  const perToken = (scale: number, shift: number) => tokens.map((_, t) => shift + scale * uniformAt(key, 1000 + t));
  return {
    tokens,
    mask: tokens.map((_, t): number => (t > length - 20 - i || t === 3 ? 1 : 0)),
    oldLogprobs: perToken(1, -9),
    referenceLogprobs: perToken(1, -9.2),
    advantage: 0.5 - (i % 2),
  };
});

describe('rows of the output projection', () => {
  it('are full chunks, or 2ⁿ or 3·2ⁿ with a large vocabulary, and include all trained rows', () => {
    assert.equal(projectedRows(1, 2048, 151936), 64);
    assert.equal(projectedRows(65, 2048, 151936), 96);
    assert.equal(projectedRows(257, 2048, 151936), 384);
    assert.equal(projectedRows(0, 2048, 151936), 64);
    assert.equal(projectedRows(350, 384, 151936), 384);
    assert.equal(projectedRows(600, 2048, 2048), 1024); // full chunks of 512
    assert.equal(projectedRows(10, 2048, 394), 2048); // one chunk takes them all
  });

  it('contain every trained position once and in order, followed by others', () => {
    const batch = new Batch(rows);
    const positions = trainedPositions(batch, rows, () => 120)!;
    const list = Array.from(positions.data as BigInt64Array, Number);
    const { length } = batch.shape;
    const trained = rows.flatMap(({ mask }, b) => mask.flatMap((m, t) => (t > 0 && m ? [b * length + t - 1] : [])));
    assert.deepEqual(list.slice(0, trained.length), trained);
    assert.equal(new Set(list).size, 120);
    assert.equal(
      trainedPositions(batch, rows, (_, all) => all),
      undefined,
    );
  });

  it('give the same bits of gradients as projecting all rows', async () => {
    const config = {
      clip: 0.2,
      temperature: 0.9,
      average: 'sequence' as const,
      entropyBonus: 0.01,
      klCoefficient: 0.1,
    };
    const loss = ppoGraphLoss(config);
    const batch = new Batch(rows);
    assert.equal(batch.positions, 384);
    const tensors = (views: ReturnType<typeof viewsOf>) =>
      Object.fromEntries([...views].map(([name, v]) => [name, tensor(v.data, v.shape)]));
    const session = await GraphSession.open(buildPpoGraph(CONFIG, batch.shape, adapter, loss));
    const feeds = { ...ppoFeeds(batch, rows, loss), ...tensors(weights), ...tensors(viewsOf(layout, values)) };
    const whole = ppoResult(batch, rows, loss, await session.run(feeds));
    await session.close();
    const train = new TrainSession({ config: CONFIG, weights });
    const { gradients, ratios, ...sums } = await train.ppo(rows, { ...adapter, values }, config);
    await train.close();
    assert.deepEqual(gradients, whole.gradients);
    assert.deepEqual(ratios, whole.ratios);
    for (const [name, sum] of Object.entries(sums)) {
      const other = whole[name as keyof typeof sums]!;
      assert.ok(Math.abs(sum - other) <= 1e-6 * Math.abs(other), `${name}: ${sum} is not ${other}`);
    }
  });
});

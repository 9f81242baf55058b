// Tests that layers in 16 bits give nearly the scores and gradients of f32, on real text.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { ROOT } from '../../../infra/root.mjs';
import { Graph } from '../../../ml/ir/graph.js';
import { toHalf } from '../../../ml/ir/half.js';
import { assertClose, compute, cosine, norm, type Opened, openModel } from '../../support/halfPrecision.js';

const TINY = join(ROOT, 'data', 'tiny-model');

describe('layers in 16 bits', () => {
  let tiny: Opened;
  before(async () => {
    tiny = await openModel(TINY);
  });

  it('score and train the shipped model nearly as in f32', () => assertClose(tiny));

  it('score and train a model whose weights are quantized', async () => {
    await assertClose(await openModel(TINY, { bits: 8, groupSize: 32 }));
  });

  it('use a lower loss scale if a gradient overflows, and keep small gradients', async () => {
    const one = { ...tiny, rows: tiny.rows.slice(0, 1) };
    const [small, usual, large] = [
      await compute(one, 'float16', 1e-5),
      await compute(one, 'float16'),
      await compute(one, 'float16', 1e4),
    ];
    assert.ok(cosine(small.gradients, usual.gradients) > 0.999);
    assert.ok(cosine(large.gradients, usual.gradients) > 0.999);
    assert.ok(Math.abs(norm(large.gradients) / norm(usual.gradients) / 1e4 - 1) < 0.01);
    await assert.rejects(compute(one, 'float16', 1e30), {
      code: 'ENGINE_FAULT',
      message: 'the gradient is not finite in 16 bits: set engine.precision to f32',
    });
  });

  it('take weights in 16 bits, and keep logits, sums and outputs in f32', () => {
    const [VOCAB, WIDTH, ROWS] = [100, 32, 20];
    const g = new Graph();
    const x = g.input('x', 'float32', [ROWS, WIDTH]);
    const [layer, head] = [g.input('layer', 'float32', [WIDTH, WIDTH]), g.input('head', 'float32', [VOCAB, WIDTH])];
    const hidden = g.add(x, g.gemm(x, layer, { transB: true }));
    g.output('hidden', hidden);
    g.output('mean', g.reduceMean(hidden, [1], true));
    g.output('logits', g.gemm(hidden, head, { transB: true }));
    toHalf(g, 'float16', new Set(['layer', 'head']), VOCAB);
    assert.deepEqual(
      g.inputs.map(({ dtype }) => dtype),
      ['float32', 'float16', 'float16'],
    );
    const computed = g.nodes.filter(({ op }) => op !== 'Cast').map(({ op, outputs }) => `${op} ${outputs[0]!.dtype}`);
    assert.deepEqual(computed, ['Gemm float16', 'Add float16', 'ReduceMean float32', 'Gemm float32']);
    assert.ok(g.outputs.every(({ value }) => value.dtype === 'float32'));
  });
});

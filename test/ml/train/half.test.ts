// Layers in 16 bits: scores and gradients against those in f32, on real text.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RandomStream } from '../../../core/random.js';
import { ROOT } from '../../../infra/root.mjs';
import { openBase, type SessionModel } from '../../../ml/engine/base.js';
import type { Adapter } from '../../../ml/engine/engine.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { digestModel } from '../../../ml/hf/digest.js';
import { describeModel } from '../../../ml/hf/model.js';
import type { Quantization } from '../../../ml/hf/packed.js';
import { Graph } from '../../../ml/ir/graph.js';
import { toHalf } from '../../../ml/ir/half.js';
import { adapterLayout, layoutSize } from '../../../ml/nn/layout.js';
import { copyWeights } from '../../../ml/pool/shared.js';
import { TrainSession } from '../../../ml/train/trainSession.js';
import { provideSmolLM2 } from '../../support/smollm2.js';

const TINY = join(ROOT, 'data', 'tiny-model');
const LOSS = { clip: 0.2, temperature: 1 } as const;
const LENGTH = 120;

/** A model with a random adapter, and rows of a README as its tokens. */
async function open(path: string, quantization?: Quantization) {
  const files = describeModel(path);
  const { config } = files;
  const { base } = await openBase(files, await digestModel(path), quantization);
  const model: SessionModel =
    base.kind === 'fed'
      ? { config, weights: copyWeights(config, base.weights) }
      : { config, locations: base.locations };
  const shape = { rank: 8, alpha: 16, valueHead: true };
  const random = new RandomStream('half');
  const values = Float32Array.from({ length: layoutSize(adapterLayout(config, shape)) }, () => 0.01 * random.normal());
  const engine = await openEngine(path, { workers: 1, threads: 1 });
  const ids = engine.encode(readFileSync(join(ROOT, 'README.md'), 'utf8').slice(0, 6000));
  await engine.close();
  const rows = [0, 1, 2, 3].map((i) => ids.slice(i * LENGTH, (i + 1) * LENGTH));
  return { model, adapter: { ...shape, values } as Adapter, rows };
}
type Opened = Awaited<ReturnType<typeof open>>;

const trajectoryOf = (tokens: number[], oldLogprobs: number[], scale = 1) => ({
  tokens,
  oldLogprobs,
  mask: tokens.map((_, t) => (t > 40 ? 1 : 0)),
  advantage: 0,
  advantages: tokens.map((_, t) => scale * Math.sin(7 * t)),
});

/** Log-probs of all tokens, and the gradient at them. @param scale of the advantages */
async function compute({ model, adapter, rows }: Opened, half?: 'float16', scale = 1) {
  const session = new TrainSession(model, { half });
  const { valueHead: _, ...lora } = adapter;
  const withoutHead = { ...lora, values: lora.values.slice(0, layoutSize(adapterLayout(model.config, lora))) };
  const logprobs = await session.use(2).score(
    rows.map((tokens) => ({ tokens })),
    withoutHead,
    1,
  );
  const parts = rows.map((tokens, i) => trajectoryOf(tokens, logprobs[i]!, scale));
  const sums = await session.ppo(parts, withoutHead, LOSS);
  await session.close();
  return { logprobs: logprobs.flatMap((row) => row.slice(1)), ...sums };
}

function cosine(a: Float32Array, b: Float32Array): number {
  let [dot, aa, bb] = [0, 0, 0];
  a.forEach((x, i) => {
    dot += x * b[i]!;
    aa += x * x;
    bb += b[i]! * b[i]!;
  });
  return dot / Math.sqrt(aa * bb);
}

async function assertClose(opened: Opened): Promise<void> {
  const [exact, half] = [await compute(opened), await compute(opened, 'float16')];
  const differences = exact.logprobs.map((x, i) => Math.abs(x - half.logprobs[i]!)).sort((x, y) => x - y);
  assert.ok(differences[Math.floor(0.99 * differences.length)]! < 0.02, 'log-probs of 99 % of the tokens');
  assert.notDeepEqual(half.logprobs, exact.logprobs);
  assert.ok(cosine(exact.gradients, half.gradients) > 0.999, `cosine ${cosine(exact.gradients, half.gradients)}`);
  assert.ok(Math.abs(norm(half.gradients) / norm(exact.gradients) - 1) < 0.01, 'the length of the gradient');
  assert.equal(half.ratio / half.tokens, 1, 'the scoring graph and the gradient graph compute the same log-probs');
}
const norm = (x: Float32Array): number => Math.hypot(...x.subarray(0, 50_000));

describe('layers in 16 bits', function () {
  this.timeout(300_000);
  let tiny: Opened;
  before(async () => {
    tiny = await open(TINY);
  });

  it('score and train the shipped model nearly as in f32', () => assertClose(tiny));

  it('score and train a model whose weights are quantized', async () => {
    await assertClose(await open(TINY, { bits: 8, groupSize: 32 }));
  });

  it('score and train SmolLM2 nearly as in f32', async function () {
    const path = provideSmolLM2() ?? this.skip();
    await assertClose(await open(path));
  });

  it('lower the loss scale where a gradient overflows, and lose nothing where it is small', async () => {
    const [small, usual, large] = [
      await compute(tiny, 'float16', 1e-5),
      await compute(tiny, 'float16'),
      await compute(tiny, 'float16', 1e4),
    ];
    assert.ok(cosine(small.gradients, usual.gradients) > 0.999);
    assert.ok(cosine(large.gradients, usual.gradients) > 0.999);
    assert.ok(Math.abs(norm(large.gradients) / norm(usual.gradients) / 1e4 - 1) < 0.01);
    await assert.rejects(compute(tiny, 'float16', 1e30), {
      code: 'ENGINE_FAULT',
      message: 'the gradient is not finite in 16 bits: set engine.precision to f32',
    });
  });

  it('give value estimates, and a gradient of the value head', async () => {
    const { model, adapter, rows } = tiny;
    const [exact, half] = await Promise.all(
      [undefined, 'float16' as const].map(async (type) => {
        const session = new TrainSession(model, { half: type });
        const values = await session.values([{ tokens: rows[0]! }], adapter);
        const part = trajectoryOf(
          rows[0]!,
          rows[0]!.map(() => -1),
        );
        const own = { ...part, returns: rows[0]!.map(() => 0.5), oldValues: values[0]! };
        const { gradients } = await session.ppo([own], adapter, { ...LOSS, valueCoefficient: 0.5, valueClip: 0.2 });
        await session.close();
        return { values: values[0]!, gradients };
      }),
    );
    const differences = exact!.values.map((value, t) => Math.abs(value - half!.values[t]!));
    assert.ok(Math.max(...differences) < 0.01);
    assert.ok(cosine(exact!.gradients, half!.gradients) > 0.999);
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

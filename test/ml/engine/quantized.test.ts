// Tests a quantized base: its file, and training, which must equal training on the unpacked weights.
import assert from 'node:assert/strict';
import { closeSync, openSync, readdirSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { RandomStream } from '../../../core/base/random.js';
import { GraphSession, tensor } from '../../../ml/device/runtime.js';
import { isLarge, openBase } from '../../../ml/engine/base.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { type ModelFiles, readWeights, type Weights } from '../../../ml/hf/model.js';
import { packedLayout } from '../../../ml/hf/packed.js';
import { packGroups } from '../../../ml/hf/quantize.js';
import { parseHeader } from '../../../ml/hf/safetensors.js';
import { Graph } from '../../../ml/ir/graph.js';
import type { TensorData } from '../../../ml/nn/layout.js';
import { SeparateWeights, type WeightLocations } from '../../../ml/nn/separateWeights.js';
import { HEAD } from '../../../ml/nn/tensorNames.js';
import { relativeError } from '../../../ml/selfTest/selfTest.js';
import { TrainSession } from '../../../ml/train/trainSession.js';
import { temporaryFolder } from '../../infra/support.js';
import { randomAdapter, randomRows, SMALL, writeSmallModel } from '../../support/smallModel.js';

const LOSS = { clip: 0.2, temperature: 0.9 };
const rows = randomRows([21, 30]); // an engine expects this order

describe('a quantized base', () => {
  let folder: string;
  let model: ModelFiles;
  let cache: string | undefined;
  before(() => {
    folder = temporaryFolder();
    cache = process.env.GAUNTLET_CACHE;
    process.env.GAUNTLET_CACHE = join(folder, 'cache');
    model = writeSmallModel(join(folder, 'model'));
  });
  after(() => {
    if (cache === undefined) delete process.env.GAUNTLET_CACHE;
    else process.env.GAUNTLET_CACHE = cache;
  });
  const files = (): string[] => readdirSync(join(folder, 'cache', 'quantized'));
  const read = (name: string): Buffer => readFileSync(join(folder, 'cache', 'quantized', name));

  async function locationsFor(bits: 4 | 8, of = model, digest = 'digest'): Promise<WeightLocations> {
    const { base } = await openBase(of, digest, { bits, groupSize: 32 });
    assert.ok(base.kind === 'mapped');
    return base.locations;
  }
  async function results(session: TrainSession) {
    const adapter = randomAdapter(model);
    const scores = await session.score(rows, adapter, 1);
    const sums = await session.ppo(rows, adapter, LOSS);
    await session.close();
    return { scores: scores.flat(), gradients: sums.gradients, loss: sums.loss };
  }

  for (const bits of [4, 8] as const)
    it(`with ${bits} bits, has the log-probs and gradients of its unpacked weights`, async () => {
      const weights = unpacked(model, bits);
      const { config } = model;
      const untied = { ...config, tied: false }; // the output projection has its own codes
      const expected = await results(new TrainSession({ config: untied, weights }));
      const locations = await locationsFor(bits);
      const actual = await results(new TrainSession({ config, locations }));
      assert.ok(relativeError(actual.scores, expected.scores) < 1e-5);
      assert.ok(relativeError(actual.gradients, expected.gradients) < 1e-5);
      const base = await results(new TrainSession({ config, weights: readWeights(model.stored) }));
      assert.ok(relativeError(actual.gradients, base.gradients) > 1e-3, 'quantization has an effect');
      for (const threads of [1, 2])
        assert.deepEqual(
          await results(new TrainSession({ config, locations }, { checkpointing: true }).use(threads)),
          actual,
        );
    });

  it('multiplies the packed codes when it decodes', async () => {
    for (const bits of [4, 8] as const) {
      const name = 'model.layers.1.mlp.down_proj.weight';
      const shape = [SMALL.hidden, SMALL.ffn] as const;
      const random = new RandomStream('x');
      const x = Float32Array.from({ length: 3 * shape[1] }, () => random.normal());
      const locations = await locationsFor(bits);
      const [exact, packed] = await Promise.all(
        [false, true].map(async (packedMatMul) => {
          const g = new Graph();
          const weights = new SeparateWeights(g, model.config, { locations, packedMatMul });
          g.output('y', weights.linear(g.input('x', 'float32', [3, shape[1]]), name, shape, false));
          assert.equal(g.nodes.at(-1)!.op, packedMatMul ? 'MatMulNBits' : 'Gemm');
          const session = await GraphSession.open(g, { weights: packedMatMul ? 'packed' : 'mapped' });
          const { y } = await session.run({ x: tensor(x, [3, shape[1]]) });
          await session.close();
          return y!.data as Float32Array;
        }),
      );
      assert.ok(relativeError(packed!, exact!) < 0.02, 'activations are rounded to eight bits'); // by up to ½/127 of the largest one
    }
  });

  it('is written once, with the same bytes each time, and again after damage', async () => {
    await locationsFor(4, model, 'one');
    await locationsFor(4, model, 'two');
    const [one, two] = ['one', 'two'].map((digest) => `${digest}-int4-g32-v1.safetensors`) as [string, string];
    const bytes = read(one);
    assert.deepEqual(read(two), bytes);
    truncateSync(join(folder, 'cache', 'quantized', two), 5000);
    await locationsFor(4, model, 'two');
    assert.deepEqual(read(two), bytes);
    assert.deepEqual(
      files().filter((name) => name.includes('tmp')),
      [],
    );
  });

  it('is a valid safetensors file', async () => {
    await locationsFor(8, model, 'one');
    const bytes = read('one-int8-g32-v1.safetensors');
    const start = 8 + Number(bytes.readBigUInt64LE(0));
    const entries = parseHeader(bytes.subarray(8, start), bytes.length - start, 'file');
    assert.deepEqual(entries.get(`${HEAD}.packed`)!.shape, [SMALL.vocab, SMALL.hidden]);
    assert.deepEqual(entries.get('model.layers.0.mlp.down_proj.weight.scales')!.shape, [SMALL.hidden, SMALL.ffn / 32]);
  });

  it('has a different digest for every format', async () => {
    assert.equal(isLarge(model), false); // a model of any size can be quantized
    const digests = await Promise.all([
      openBase(model, 'digest'),
      openBase(model, 'digest', { bits: 4, groupSize: 32 }),
      openBase(model, 'digest', { bits: 8, groupSize: 32 }),
      openBase(model, 'digest', { bits: 4, groupSize: 16 }),
    ]);
    assert.equal(new Set(digests.map((d) => d.digest)).size, 4);
  });

  it("works in an engine, whose update is AdamW's and changes no argument", async () => {
    const engine = await openEngine(model.path, { quantization: { bits: 4, groupSize: 32 }, workers: 1 });
    try {
      const adapter = randomAdapter(model);
      const copy = adapter.values.slice();
      const sums = await engine.gradients(rows, { adapter, loss: LOSS });
      const locations = await locationsFor(4);
      const alone = new TrainSession({ config: model.config, locations });
      assert.deepEqual(sums.gradients, (await alone.ppo(rows, adapter, LOSS)).gradients);
      await alone.close();
      const state = engine.newOptimizerState(adapter);
      const config = { learningRate: 0.5, betas: [0.9, 0.999] as const, eps: 1e-8, weightDecay: 0, maxGradNorm: 1e9 };
      const updated = await engine.applyUpdate(adapter, state, sums, config);
      assert.equal(updated.state.step, 1);
      updated.adapter.values.forEach((v, i) => {
        const g = sums.gradients[i]! / sums.divisor; // Adam's first step is the sign of the gradient if eps is small
        if (Math.abs(g) > 1e-4) assert.ok(Math.abs(v - (copy[i]! - 0.5 * Math.sign(g))) < 1e-3);
      });
      assert.deepEqual([adapter.values, state.step], [copy, 0]);
    } finally {
      await engine.close();
    }
  });

  it('refuses unsupported bits and groups, and weights that are not finite', async () => {
    const open = (bits: number, groupSize: number) => openBase(model, 'd', { bits: bits as 4, groupSize });
    await assert.rejects(open(3, 32), { code: 'BAD_CONFIG', message: /quantization.bits must be 4 or 8, is 3/ });
    await assert.rejects(open(4, 24), { code: 'BAD_CONFIG', message: /groupSize must be 16, .* is 24/ });
    await assert.rejects(open(4, 64), { message: /groupSize 64 does not divide the 96 inputs of .*down_proj/ });
    const broken = writeSmallModel(join(folder, 'broken'));
    const place = broken.stored.get('model.layers.1.self_attn.v_proj.weight')!;
    const fd = openSync(place.path, 'r+');
    writeSync(fd, new Uint8Array(Float32Array.of(Number.NaN).buffer), 0, 4, place.offset + 400);
    closeSync(fd);
    await assert.rejects(openBase(broken, 'e', { bits: 4, groupSize: 32 }), {
      code: 'BAD_MODEL',
      message: /model\.layers\.1\.self_attn\.v_proj\.weight has a weight that is not finite/,
    });
    assert.deepEqual(
      files().filter((name) => name.startsWith('e')),
      [],
    );
  });
});

describe('quantization codes', () => {
  it('are at most half a step off and represent the largest weight of a group exactly', () => {
    const random = new RandomStream('codes');
    const weights = Float32Array.from({ length: 64 * 32 }, () => random.normal());
    for (const bits of [4, 8] as const) {
      const { packed, scales } = packGroups(weights, bits, 32);
      assert.equal(packed.length, (weights.length * bits) / 8);
      const back = unpackGroups(packed, scales, bits, 32);
      weights.forEach((w, i) => {
        const step = Math.abs(scales[Math.floor(i / 32)]!);
        const extreme = Math.abs(w) >= step * (2 ** (bits - 1) - 0.51);
        // the range is asymmetric: the side of the largest weight has one code more than the other
        assert.ok(Math.abs(back[i]! - w) <= step * (extreme ? 1 : 0.5) * (1 + 1e-6));
      });
    }
  });

  it('are zero for a group of zeros', () => {
    const { packed, scales } = packGroups(new Float32Array(32), 4, 16);
    assert.deepEqual([...scales], [0, 0]);
    assert.deepEqual([...unpackGroups(packed, scales, 4, 16)], new Array(32).fill(0));
  });
});

/** Quantizes and dequantizes the weights without the runtime. */
function unpacked(model: ModelFiles, bits: 4 | 8): Weights {
  const weights = new Map<string, TensorData>(readWeights(model.stored));
  for (const { name, source, shape, bits: own } of packedLayout(model.config, { bits, groupSize: 32 }).matrices) {
    const { packed, scales } = packGroups(weights.get(source)!.data, own, 32);
    weights.set(name, { shape, data: unpackGroups(packed, scales, own, 32) });
  }
  return weights;
}

/** Dequantizes the codes in f32 like DequantizeLinear. */
function unpackGroups(packed: Uint8Array, scales: Float32Array, bits: 4 | 8, groupSize: number): Float32Array {
  const zero = 2 ** (bits - 1);
  return Float32Array.from({ length: scales.length * groupSize }, (_, i) => {
    const code = bits === 8 ? packed[i]! : (packed[i >> 1]! >> (4 * (i & 1))) & 15;
    return scales[Math.floor(i / groupSize)]! * (code - zero);
  });
}

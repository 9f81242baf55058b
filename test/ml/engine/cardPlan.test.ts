// Tests the plan for the memory of a card. lab/fakeCuda compares it with what a CUDA runtime counts. The tests here cover its parts,
// the settings of the presets, and the table in docs/how-to/use-another-model.md.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CARDS, type PresetName, resolveConfig } from '../../../core/config/presets.js';
import { ROOT } from '../../../infra/root.mjs';
import { PUBLISHED, SHAPES, shapeConfig } from '../../../lab/bench/shapes.js';
import { arena, type CardUse, checkCard, planCard, sumOf } from '../../../ml/engine/cardPlan.js';
import { expectedOnCard } from '../../../ml/engine/ortEngine.js';
import { parseModelConfig } from '../../../ml/hf/config.js';
import { describeModel } from '../../../ml/hf/model.js';
import { Graph } from '../../../ml/ir/graph.js';
import { peakBytes } from '../../../ml/ir/liveBytes.js';
import { engineOptions } from '../../../workers/deps/deps.js';

const GIB = 2 ** 30;
const USABLE = 0.92; // the usable share of the memory of a card: a screen and other programs need the rest
const MODELS = {
  'code-a1-small': parseModelConfig(shapeConfig(PUBLISHED['0.5B']), '0.5B'),
  'qwen-0.5b': parseModelConfig(shapeConfig(PUBLISHED['0.5B']), '0.5B'),
  'qwen-1.5b': parseModelConfig(shapeConfig(PUBLISHED['1.5B']), '1.5B'),
  'qwen-7b': parseModelConfig(shapeConfig(PUBLISHED['7B'], { tie_word_embeddings: false }), '7B'),
};
const llama = { architectures: ['LlamaForCausalLM'], model_type: 'llama' };
const SMOLLM2 = parseModelConfig(shapeConfig(SHAPES.smollm2, llama), 'SmolLM2');
const USE: CardUse = { precision: 'f16', activationBytes: 16_000 * 2 ** 20, rank: 8 };

const settings = Object.entries(CARDS).flatMap(([preset, sizes]) =>
  Object.keys(sizes).map((size) => {
    const config = resolveConfig({ preset, engine: { device: 'cuda', gpuGigabytes: Number(size) } });
    const { engine, lora } = config;
    const plan = planCard(MODELS[preset as keyof typeof MODELS], { ...engineOptions(engine, {}), rank: lora.rank });
    return { preset: preset as PresetName, size: Number(size), engine, plan };
  }),
);

describe('the memory of a card', () => {
  it('suffices for the settings of every preset, even if the card drives a screen', () => {
    assert.equal(settings.length, 14);
    for (const { preset, size, plan } of settings)
      assert.ok(plan.total <= USABLE * size * GIB, `${preset} needs ${plan.total / GIB} of ${size} GiB`);
  });

  it('equals the figures in the table of docs/how-to/use-another-model.md', () => {
    const text = readFileSync(join(ROOT, 'docs', 'how-to', 'use-another-model.md'), 'utf8');
    const rows = [...text.matchAll(/^\| `(qwen-[\d.]+b)` \| (\d+ GB) \| (.*) \|$/gm)].map(([, preset, size, cells]) =>
      [preset, size, ...cells!.split(' | ')].join(' · '),
    );
    assert.equal(CARDS['code-a1-small'], CARDS['qwen-0.5b']); // one line of the page says so
    const listed = settings.filter(({ preset }) => preset !== 'code-a1-small');
    const expected = listed.map(({ preset, size, engine, plan }) => {
      const activations = engine.checkpointing ? 'recomputed' : 'kept';
      const rest = [engine.precision, activations, engine.activationMegabytes, engine.decoderRows ?? 64];
      return [preset, `${size} GB`, `${(plan.total / GIB).toFixed(1)} GiB`, ...rest].join(' · ');
    });
    assert.deepEqual(rows, expected);
  });

  it('is planned part by part', () => {
    const plan = planCard(SMOLLM2, USE);
    const { total, ...parts } = plan;
    assert.equal(
      total,
      Object.values(parts).reduce((a, b) => a + b, 0),
    );
    const parameters = 134_515_008;
    assert.equal(plan.weights, 2 * parameters);
    assert.equal(plan.copy, 2 * (parameters - 49_152 * 576), 'the layers with the adapter merged in');
    assert.equal(plan.caches, 2 * 65 * 2048 * 2 * 30 * 3 * 64);
    const of = (use: Partial<CardUse>) => planCard(SMOLLM2, { ...USE, ...use });
    assert.ok(of({ precision: 'f32' }).training > 1.7 * plan.training, 'numbers of 32 bits');
    assert.ok(of({ checkpointing: true }).training < plan.training / 3, 'activations that are computed again');
    assert.ok(of({ activationBytes: 4000 * 2 ** 20 }).training < plan.training / 2, 'smaller parts');
    assert.equal(of({ decoderRows: 15 }).caches, (plan.caches * 16) / 65);
    const quantized = of({ quantization: { bits: 4, groupSize: 32 } });
    assert.ok(quantized.weights < plan.weights && quantized.caches === 0, 'another decoder samples');
    const two = sumOf([plan, plan]);
    assert.equal(two.training, plan.training, 'they train one after the other');
    assert.equal(two.weights, 2 * plan.weights);
    assert.ok(two.total < 2 * plan.total);
  });

  it('is planned in a thread when a worker opens a model', async () => {
    const path = join(ROOT, 'data', 'tiny-model');
    const { config } = describeModel(path);
    assert.deepEqual(
      await expectedOnCard(path, { precision: 'f16' }),
      planCard(config, { precision: 'f16', rank: 16 }),
    );
  });

  it('is refused in one line that says what is needed, what there is, and the way out', () => {
    const plan = planCard(MODELS['qwen-1.5b'], { ...USE, rank: 16 });
    checkCard('model', plan, plan.total);
    assert.throws(() => checkCard('model', plan, 8 * GIB), {
      code: 'OUT_OF_MEMORY',
      message:
        /^model: needs 1\d\.\d GiB: weights 2\.9, keys and values 3\.6, training \d\.\d, other \d\.\d; the GPU has 8\.0 GiB: .*engine\.decoderRows=16.*engine\.checkpointing=true changes no result$/,
    });
  });

  it('is taken in regions that grow', () => {
    assert.deepEqual(
      [0, 0.4 * GIB, 0.6 * GIB, 2 * GIB].map((bytes) => arena(bytes) / GIB),
      [0.25, 0.75, 1.75, 2.75],
    );
  });
});

describe('the bytes that are alive in a graph', () => {
  const MIB = 2 ** 20;
  const square = [512, 512]; // 1 MiB in f32

  it('are counted at the moment when they are most, without inputs that are held anyway', () => {
    const g = new Graph();
    const [x, w] = [g.input('x', 'float32', square), g.input('w', 'float32', square)];
    const a = g.matMul(x, w);
    const b = g.matMul(a, w);
    g.output('y', g.matMul(a, b)); // a, b and y are alive
    const held = (names: string[]) => peakBytes(g, ({ name }) => names.includes(name)) / MIB;
    assert.deepEqual([held(['x', 'w']), held(['w']), held([])], [3, 4, 5]);
  });

  it('do not count views twice, nor a result that replaces an input which nobody reads again', () => {
    const g = new Graph();
    const x = g.input('x', 'float32', square);
    const flat = g.reshape(g.exp(x), [512 * 512]);
    g.output('y', g.neg(flat));
    assert.equal(peakBytes(g, () => true) / MIB, 1);
  });
});

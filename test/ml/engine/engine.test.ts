import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RandomStream } from '../../../core/base/random.js';
import type { Trajectory } from '../../../core/schema/trajectory.js';
import { ROOT } from '../../../infra/root.mjs';
import { openTrainer } from '../../../lab/catches/writer/trainer.js';
import { listProviders } from '../../../ml/device/providers.js';
import type { Adapter, Engine } from '../../../ml/engine/engine.js';
import { baseName } from '../../../ml/engine/engineFiles.js';
import { estimateMemory } from '../../../ml/engine/memory.js';
import { GRADIENT_SEQUENCES, openEngine } from '../../../ml/engine/ortEngine.js';
import { digestModel } from '../../../ml/hf/digest.js';
import { describeModel } from '../../../ml/hf/model.js';
import { parseSafetensors, writeSafetensors } from '../../../ml/hf/safetensors.js';
import { layoutSize, loraLayout, viewsOf } from '../../../ml/nn/layout.js';
import { mergeLora } from '../../../ml/nn/mergeLora.js';
import { GradientTotal } from '../../../ml/train/statistics.js';
import type { TrainSession } from '../../../ml/train/trainSession.js';
import { temporaryFolder } from '../../infra/support.js';
import { writeGiant } from '../../support/giantModel.js';
import { loadModel } from '../../support/loadModel.js';

const fixture = join(ROOT, 'test', 'ml', 'parity', 'generate');
const update = { learningRate: 1e-2, betas: [0.9, 0.99] as const, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 };
const loss = { clip: 0.2, temperature: 0.8 };
const stream = new RandomStream('engine');
const tokensOf = (length: number): number[] => Array.from({ length }, () => stream.int(3, 66));

async function trajectories(engine: Engine, adapter: Adapter, count: number): Promise<Trajectory[]> {
  const rows = Array.from({ length: count }, (_, i) => ({ tokens: tokensOf(10 + ((i * 13) % 60)) }));
  const old = await engine.logprobs(rows, { adapter, temperature: loss.temperature });
  return rows.map(({ tokens }, i) => ({
    tokens,
    mask: tokens.map((_, t) => (t > 5 ? 1 : 0)),
    oldLogprobs: old[i]!,
    advantage: i % 3 === 0 ? -1 : 1,
  }));
}

describe('engine', () => {
  let engine: Engine;
  let adapter: Adapter;
  before(async () => {
    engine = await openEngine(fixture, { workers: 2 });
    adapter = engine.initAdapter({ rank: 4, alpha: 8 }, 5);
  });
  after(() => engine.close());

  it('describes its model', async () => {
    const { config } = loadModel(fixture);
    const { architecture, vocabSize, contextLength, eosTokens } = engine.info;
    assert.deepEqual(
      { architecture, vocabSize, contextLength, eosTokens },
      {
        architecture: 'Qwen2ForCausalLM',
        vocabSize: config.vocab,
        contextLength: 256,
        eosTokens: [2],
      },
    );
    assert.match(engine.info.digest, /^[0-9a-f]{64}$/);
    assert.equal(engine.info.digest, await digestModel(fixture));
    assert.ok(listProviders().includes('cpu'));
  });

  it('scores in f16 if it is opened with this precision, and refuses bf16, which a CPU cannot compute', async () => {
    const half = await openEngine(fixture, { workers: 1, precision: 'f16' });
    const rows = [{ tokens: [5, 6, 7, 8, 9] }];
    const [exact] = await engine.logprobs(rows, { temperature: 1 });
    const [rounded] = await half.logprobs(rows, { temperature: 1 });
    await half.close();
    assert.notDeepEqual(rounded, exact);
    exact!.forEach((logprob, t) => {
      assert.ok(Math.abs(logprob - rounded![t]!) < 0.02);
    });
    await assert.rejects(openEngine(fixture, { precision: 'bf16' }), {
      code: 'BAD_CONFIG',
      message: 'engine.precision bf16 needs device cuda: use f32, or f16',
    });
  });

  it('encodes and decodes text, and appends the turns of a conversation', () => {
    assert.equal(engine.decode(engine.encode('def solve(nums):')), 'def solve(nums):');
    const chat = engine.chat();
    const opening = chat.openingTokens([{ role: 'user', content: 'solve 3' }]);
    assert.equal(engine.decode(opening), '<|im_start|>user\nsolve 3<|im_end|>\n<|im_start|>assistant\n');
    assert.equal(
      engine.decode(chat.continuationTokens('beta', engine.info.eosTokens[0])),
      '\n<|im_start|>user\nbeta<|im_end|>\n<|im_start|>assistant\n',
    );
    assert.deepEqual(
      chat.continuationTokens('beta').slice(1),
      chat.continuationTokens('beta', engine.info.eosTokens[0]),
    );
  });

  it('without a tokenizer, accepts token ids and refuses text', async () => {
    const folder = temporaryFolder();
    for (const file of ['config.json', 'model.safetensors']) cpSync(join(fixture, file), join(folder, file));
    const bare = await openEngine(folder, { workers: 1 });
    const row = { prompt: [5, 6], key: [0, 0] as const };
    const [answer] = await bare.generate([row], { maxNewTokens: 3, temperature: 0, stopTokens: [] });
    assert.equal(answer!.tokens.length, 3);
    assert.throws(() => bare.encode('x'), /no tokenizer.json/);
    await bare.close();
  });

  it('a new adapter has no effect: B is zero, A is uniform within ±1/√in and depends on the seed', async () => {
    const layout = loraLayout(loadModel(fixture).config, 4);
    assert.equal(adapter.values.length, layoutSize(layout));
    for (const { name, shape, offset } of layout) {
      const part = adapter.values.subarray(offset, offset + shape[0]! * shape[1]!);
      const bound = 1 / Math.sqrt(shape[1]!);
      if (name.includes('lora_B')) assert.ok(part.every((x) => x === 0));
      else {
        assert.ok(part.every((x) => Math.abs(x) <= bound));
        assert.ok(Math.max(...part) > 0.8 * bound && Math.min(...part) < -0.8 * bound);
      }
    }
    assert.deepEqual(engine.initAdapter({ rank: 4, alpha: 8 }, 5), adapter);
    assert.notDeepEqual(engine.initAdapter({ rank: 4, alpha: 8 }, 6).values, adapter.values);
    const rows = [{ tokens: tokensOf(20) }];
    assert.deepEqual(
      await engine.logprobs(rows, { adapter, temperature: 1 }),
      await engine.logprobs(rows, { temperature: 1 }),
    );
  });

  it('log-probs of a row are the same bits alone and in a batch', async () => {
    const rows = [1, 5, 40, 41, 64, 65, 100, 30, 31, 32, 33, 2, 3, 4, 90, 91, 92, 93, 94].map((n) => ({
      tokens: tokensOf(n),
    }));
    const together = await engine.logprobs(rows, { adapter, temperature: 0.7 });
    for (const [i, row] of rows.entries()) {
      assert.equal(together[i]!.length, row.tokens.length);
      assert.equal(together[i]![0], 0);
      assert.deepEqual((await engine.logprobs([row], { adapter, temperature: 0.7 }))[0], together[i]);
    }
    const scores = await engine.scores(rows, { adapter, temperature: 0.7 });
    assert.deepEqual(
      scores.map(({ logprobs }) => logprobs),
      together,
    );
    assert.ok(scores.every(({ entropies }, i) => entropies.length === rows[i]!.tokens.length));
  });

  it('gradients are the same bits on one and two workers, and the sum of their shards', async () => {
    const rows = await trajectories(engine, adapter, 2 * GRADIENT_SEQUENCES + 3);
    const two = await engine.gradients(rows, { adapter, loss });
    const single = await openEngine(fixture, { workers: 1 });
    assert.deepEqual(await single.gradients(rows, { adapter, loss }), two);
    await single.close();
    assert.equal(
      two.tokens,
      rows.reduce((n, r) => n + r.mask.reduce((a, b) => a + b, 0), 0),
    );
    assert.ok(Math.abs(two.ratio / two.tokens - 1) < 1e-5, 'old log-probs are those of this policy');
    const parts = [];
    for (const row of rows) parts.push(await engine.gradients([row], { adapter, loss }));
    const total = new GradientTotal(adapter.values.length);
    for (const part of parts) total.add(part);
    const { sums: sum } = total;
    const size = Math.sqrt(two.gradients.reduce((s, g) => s + g * g, 0));
    const off = Math.sqrt(two.gradients.reduce((s, g, i) => s + (g - sum.gradients[i]!) ** 2, 0));
    assert.ok(size > 0 && off < 1e-5 * size, `${off} of ${size}`);
    assert.ok(Math.abs(sum.loss - two.loss) < 1e-3);
  });

  it('trains as many parts at a time as fit into memory, with the same bits', async () => {
    const rows = await trajectories(engine, adapter, GRADIENT_SEQUENCES + 3);
    const expected = await engine.gradients(rows, { adapter, loss });
    const length = Math.max(...rows.map(({ tokens }) => tokens.length));
    const onePart = estimateMemory(describeModel(fixture), { task: 'train', sequences: rows.length, length, rank: 4 });
    const tight = await openEngine(fixture, { workers: 2 });
    const { constrainedMemory } = process;
    let workers = 0;
    const count = (): number => workers++;
    process.on('worker', count);
    try {
      process.constrainedMemory = () => onePart;
      assert.deepEqual(await tight.gradients(rows, { adapter, loss }), expected);
      assert.equal(workers, 1);
      process.constrainedMemory = () => onePart - 1;
      await assert.rejects(tight.gradients(rows, { adapter, loss }), { code: 'OUT_OF_MEMORY' });
    } finally {
      process.constrainedMemory = constrainedMemory;
      process.off('worker', count);
      await tight.close();
    }
  });

  it('updates raise the log-probs of rewarded tokens and change no argument', async () => {
    const rows = (await trajectories(engine, adapter, 6)).map((row) => ({ ...row, advantage: 1 }));
    const value = async (a: Adapter): Promise<number> => {
      const scored = await engine.logprobs(rows, { adapter: a, temperature: loss.temperature });
      return scored.reduce((s, row, i) => s + row.reduce((t, x, j) => t + x * rows[i]!.mask[j]!, 0), 0);
    };
    const before = adapter.values.slice();
    let [now, state] = [adapter, engine.newOptimizerState(adapter)];
    for (let step = 1; step <= 3; step++) {
      const sums = await engine.gradients(rows, { adapter: now, loss });
      const next = await engine.applyUpdate(now, state, sums, update);
      assert.equal(next.state.step, step);
      assert.equal(next.stats.tokens, sums.tokens);
      assert.equal(next.stats.loss, sums.loss / sums.tokens);
      const norm = Math.sqrt(sums.gradients.reduce((s, g) => s + (g / sums.tokens) ** 2, 0));
      assert.ok(Math.abs(next.stats.gradNorm - norm) < 1e-5 * norm);
      [now, state] = [next.adapter, next.state];
    }
    assert.deepEqual(adapter.values, before);
    assert.ok((await value(now)) > (await value(adapter)) + 1);
  });

  it('refuses invalid inputs and names the field', async () => {
    const [row] = await trajectories(engine, adapter, 1);
    const wrong = { ...adapter, values: adapter.values.subarray(1) };
    await assert.rejects(engine.gradients([row!], { adapter: wrong, loss }), /adapter has \d+ values, rank 4/);
    await assert.rejects(engine.logprobs([{ tokens: [99] }], { temperature: 1 }), /token 99 is outside/);
    const none = {
      gradients: new Float32Array(adapter.values.length),
      loss: 0,
      divisor: 0,
      ratio: 0,
      approxKl: 0,
      clipped: 0,
      entropy: 0,
      tokens: 0,
    };
    await assert.rejects(engine.applyUpdate(adapter, engine.newOptimizerState(adapter), none, update), /at least one/);
    await assert.rejects(engine.gradients([row!], { adapter, loss, signal: AbortSignal.abort(new Error('no')) }), /no/);
    await assert.rejects(openEngine('/nowhere'), /no such folder/);
    await assert.rejects(openEngine(fixture, { workers: 0 }), /workers must be a positive integer, is 0/);
    await assert.rejects(engine.logprobs([row!], { temperature: 0 }), /temperature must be above 0, is 0/);
    await assert.rejects(engine.gradients([row!], { adapter, loss: { ...loss, klCoefficient: 1 } }), {
      code: 'BAD_INPUT',
      message: 'a row has no referenceLogprobs, which a KL penalty needs',
    });
    const far = { ...row!, oldLogprobs: row!.tokens.map(() => -1e5), advantage: -1 };
    const infinite = await engine.gradients([far], { adapter, loss });
    await assert.rejects(engine.applyUpdate(adapter, engine.newOptimizerState(adapter), infinite, update), {
      code: 'BAD_INPUT',
      message: 'the gradient is not finite: are oldLogprobs those of this policy?',
    });
  });

  it('refuses damaged weights when it first uses them, and a model beyond the free memory before it reads any', async () => {
    const folder = temporaryFolder();
    cpSync(fixture, join(folder, 'model'), { recursive: true });
    const path = join(folder, 'model', 'model.safetensors');
    const tensors = parseSafetensors(readFileSync(path), path);
    tensors.get('model.norm.weight')!.data[0] = Number.NaN;
    writeFileSync(path, writeSafetensors(tensors));
    const damaged = await openEngine(join(folder, 'model'), { workers: 1 });
    const rows = [{ tokens: [5, 6, 7] }];
    const refusal = { code: 'BAD_MODEL', message: /^the log-probabilities are not finite: the weights/ };
    await assert.rejects(damaged.logprobs(rows, { temperature: 1 }), refusal);
    await assert.rejects(damaged.scores(rows, { temperature: 1 }), refusal);
    await damaged.close();
    await writeGiant(join(folder, 'giant'));
    await assert.rejects(openEngine(join(folder, 'giant')), {
      code: 'OUT_OF_MEMORY',
      message: /giant: needs \d{3,}\.\d GB, [\d.]+ GB are free; /,
    });
  });

  it('an exported adapter can be imported again, and names the base folder', () => {
    const files = engine.exportAdapter(adapter);
    assert.deepEqual(engine.importAdapter(files), adapter);
    assert.match(new TextDecoder().decode(files.get('adapter_config.json')), /"base_model_name_or_path": "generate"/);
    const snapshot = `/cache/models--Qwen--Qwen2.5-0.5B/snapshots/${'a'.repeat(40)}`;
    assert.deepEqual(['/models/mine', snapshot].map(baseName), ['mine', 'Qwen/Qwen2.5-0.5B']);
  });
});

describe('merging an adapter', () => {
  it('adds α/r·B·A to every element of the seven projections and changes no other tensor', () => {
    const { config, weights } = loadModel(fixture);
    const [rank, alpha] = [3, 6];
    const layout = loraLayout(config, rank);
    const values = Float32Array.from({ length: layoutSize(layout) }, () => stream.uniform() - 0.5);
    const merged = mergeLora(config, weights, { rank, alpha, values });
    const lora = viewsOf(layout, values);
    for (const name of [...lora.keys()].filter((key) => key.includes('.lora_A.'))) {
      const target = name.replace('base_model.model.', '').replace('.lora_A.', '.');
      const [a, b] = [lora.get(name)!.data, lora.get(name.replace('.lora_A.', '.lora_B.'))!.data];
      const { data: before, shape } = weights.get(target)!;
      const into = shape[1]!;
      merged.get(target)!.data.forEach((actual, k) => {
        let sum = 0;
        for (let r = 0; r < rank; r++) sum += b[Math.floor(k / into) * rank + r]! * a[r * into + (k % into)]!;
        assert.ok(Math.abs(actual - before[k]! - (alpha / rank) * sum) < 1e-6, `${target}[${k}]`);
      });
    }
    assert.equal(merged.get('model.embed_tokens.weight'), weights.get('model.embed_tokens.weight'));
    assert.equal([...merged].filter(([n, t]) => t !== weights.get(n)).length, 7 * config.layers);
  });
});

describe('supervised trainer', () => {
  it('the loss decreases equally on one and two workers, and only matrices have weight decay', async () => {
    const { config, weights } = loadModel(fixture);
    type Rows = Parameters<TrainSession['sft']>[1];
    const rows: Rows = Array.from({ length: 10 }, (_, i) => {
      const tokens = tokensOf(8 + 5 * i);
      return i % 2 ? { tokens } : { tokens, mask: tokens.map((_, t) => (t > 3 ? 1 : 0)) };
    });
    const train = async (workers: number, weightDecay: number, learningRate = 3e-3) => {
      const trainer = await openTrainer({ config, weights, workers });
      const losses: number[] = [];
      for (let i = 0; i < 6; i++) losses.push((await trainer.step([...rows], { learningRate, weightDecay })).loss);
      const trained = trainer.weights();
      await trainer.close();
      return { losses, trained };
    };
    const one = await train(1, 0);
    const two = await train(2, 0);
    assert.deepEqual(two, one);
    assert.ok(one.losses.at(-1)! < 0.8 * one.losses[0]!, one.losses.join());
    const decayed = (await train(1, 0.5)).trained;
    const norm = (t: { data: Float32Array }): number => t.data.reduce((s, x) => s + x * x, 0);
    const matrix = 'model.layers.0.mlp.up_proj.weight';
    assert.ok(norm(decayed.get(matrix)!) < norm(one.trained.get(matrix)!));
    const first = await openTrainer({ config, weights, workers: 1 });
    const plain = await openTrainer({ config, weights, workers: 1 });
    await first.step([...rows], { learningRate: 1e-3, weightDecay: 0.5 });
    await plain.step([...rows], { learningRate: 1e-3, weightDecay: 0 });
    const scale = 'model.norm.weight';
    assert.deepEqual(first.weights().get(scale), plain.weights().get(scale));
    assert.notDeepEqual(first.weights().get(matrix), plain.weights().get(matrix));
    await first.close();
    await plain.close();
  });
});

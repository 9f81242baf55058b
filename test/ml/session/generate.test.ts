// Generation against transformers (recorded by test/ml/parity/record_generate.py) and against itself: a row's tokens
// must not hang on its neighbours, on padding or on the number of workers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deriveKey, RandomStream } from '../../../core/random.js';
import { packageRoot } from '../../../data/paths.js';
import { loadModel } from '../../../ml/hf/model.js';
import { buildDecodeGraph, buildPrefillGraph, MASKED } from '../../../ml/nn/decodeGraph.js';
import { mergeLora } from '../../../ml/nn/mergeLora.js';
import { encodeModel } from '../../../ml/onnx/encode.js';
import { cacheSlots, DecodeSession } from '../../../ml/session/decodeSession.js';
import type { Adapter, Engine, Generated, GenerateRow } from '../../../ml/session/engine.js';
import { openEngine } from '../../../ml/session/ortEngine.js';
import { GraphSession, tensor } from '../../../ml/session/runtime.js';

const fixture = join(packageRoot(), 'test', 'ml', 'parity', 'generate');
const expected = JSON.parse(readFileSync(join(fixture, 'expected.json'), 'utf8')) as {
  generate: { prompt: number[]; tokens: number[]; logits: number[] }[];
};
const EOS = 2;
const VOCAB = 67;

const randomRow = (name: string, length: number): GenerateRow => {
  const stream = new RandomStream('row', name);
  return { prompt: Array.from({ length }, () => stream.int(3, VOCAB - 1)), key: deriveKey('key', name) };
};
const noisy = (engine: Engine): Adapter => {
  const adapter = engine.initAdapter({ rank: 4, alpha: 8 }, 11);
  const stream = new RandomStream('noise');
  return { ...adapter, values: adapter.values.map((x) => x + 0.1 * (stream.uniform() - 0.5)) };
};
const sample = { maxNewTokens: 40, temperature: 1, stopTokens: [EOS] };

describe('generation', () => {
  let engine: Engine;
  before(async () => {
    engine = await openEngine(fixture, { workers: 2 });
  });
  after(() => engine.close());

  it('greedy tokens equal those of transformers, prompts from 1 to 90 tokens in one batch', async () => {
    const rows = expected.generate.map(({ prompt }) => ({ prompt, key: [0, 0] as const }));
    const got = await engine.generate(rows, { ...sample, temperature: 0 });
    assert.deepEqual(
      got.map((g) => g.tokens),
      expected.generate.map((e) => e.tokens),
    );
    assert.deepEqual(
      got.map((g) => g.finished),
      expected.generate.map((e) => e.tokens.at(-1) === EOS),
    );
  });

  it('the logits after a prompt equal those of transformers', async () => {
    const model = loadModel(fixture);
    const session = await GraphSession.open(encodeModel(buildPrefillGraph(model.config, 2, 96)));
    const weights = Object.fromEntries([...model.weights].map(([n, t]) => [n, tensor(t.data, t.shape)]));
    for (const { prompt, logits } of expected.generate) {
      const ids = new BigInt64Array(192);
      prompt.forEach((id, t) => {
        ids[t] = BigInt(id);
      });
      const last = BigInt64Array.of(BigInt(prompt.length - 1), 96n);
      const out = await session.run({ ...weights, ids: tensor(ids, [192]), last: tensor(last, [2]) });
      const mine = (out.logits!.data as Float32Array).subarray(0, VOCAB);
      logits.forEach((x, i) => {
        assert.ok(Math.abs(x - mine[i]!) < 2e-5, `prompt of ${prompt.length}, logit ${i}: ${mine[i]} instead of ${x}`);
      });
    }
    await session.close();
  });

  it('a row gives the same tokens alone, among others, in another order and on another number of workers', async () => {
    const rows = [1, 30, 33, 60, 61, 90, 90, 120].map((length, i) => randomRow(`r${i}`, length));
    rows.push({ prompt: rows[3]!.prompt, key: deriveKey('other') }, rows[0]!);
    const crowd = Array.from({ length: 60 }, (_, i) => randomRow(`c${i}`, 1 + ((i * 37) % 150)));
    const adapter = noisy(engine);
    for (const options of [sample, { ...sample, adapter, topP: 0.9 }]) {
      const together = await engine.generate(rows, options);
      const alone: Generated[] = [];
      for (const row of rows) alone.push(...(await engine.generate([row], options)));
      assert.deepEqual(together, alone);
      const crowded = await engine.generate([...crowd, ...[...rows].reverse()], options);
      assert.deepEqual(crowded.slice(crowd.length).reverse(), alone);
      const single = await openEngine(fixture, { workers: 1 });
      assert.deepEqual(await single.generate([...crowd, ...[...rows].reverse()], options), crowded);
      await single.close();
    }
    const base = await engine.generate(rows, sample);
    assert.notDeepEqual(base[3], base[8], 'the same prompt under another key samples another answer');
    assert.deepEqual(base[0], base[9]);
  });

  it('a chunk of any size gives the same bits: the logits of a row do not see padding or neighbours', async () => {
    const model = loadModel(fixture);
    const session = new DecodeSession(model.config, model.config.contextLength);
    session.setWeights(model.weights);
    const rows = Array.from({ length: 13 }, (_, i) => randomRow(`b${i}`, 5 + 9 * i));
    const whole = await session.generate(rows, sample);
    for (const size of [1, 2, 5]) {
      const parts: Generated[] = [];
      for (let i = 0; i < rows.length; i += size)
        parts.push(...(await session.generate(rows.slice(i, i + size), sample)));
      assert.deepEqual(parts, whole);
    }
    await session.close();
  });

  it('the bits of a row of logits are the same for every batch of two or more and every cache size', async () => {
    const { config: c, weights } = loadModel(fixture);
    const fixed = Object.fromEntries([...weights].map(([n, t]) => [n, tensor(t.data, t.shape)]));
    const stream = new RandomStream('bits');
    const past = Array.from({ length: 2 * c.layers * c.kvHeads }, () =>
      Float32Array.from({ length: 30 * c.headDim }, () => stream.uniform() - 0.5),
    );
    const seen = new Set<string>();
    for (const [B, slots] of [
      [2, 64],
      [9, 64],
      [3, 128],
      [32, 192],
      [2, 512],
    ] as const) {
      const mask = new Float32Array(B * slots).fill(MASKED);
      for (let b = 0; b < B; b++) mask.fill(0, b * slots, b * slots + (b === 0 ? 30 : stream.int(0, slots - 1)));
      const feeds: typeof fixed = { ...fixed, mask: tensor(mask, [B, 1, 1, slots]) };
      for (let i = 0; i < 2 * c.layers; i++) {
        const size = c.kvHeads * slots * c.headDim;
        const data = Float32Array.from({ length: B * size }, () => stream.uniform() - 0.5).fill(0, 0, size);
        for (let h = 0; h < c.kvHeads; h++) data.set(past[i * c.kvHeads + h]!, h * slots * c.headDim);
        feeds[`${i % 2 ? 'v' : 'k'}${i >> 1}`] = tensor(data, [B, c.kvHeads, slots, c.headDim]);
      }
      const of = (first: number, last: number) =>
        BigInt64Array.from({ length: B }, (_, b) => BigInt(b === 0 ? first : stream.int(0, last)));
      const session = await GraphSession.open(encodeModel(buildDecodeGraph(c, slots)));
      const out = await session.run({
        ...feeds,
        ids: tensor(of(9, 66), [B]),
        positions: tensor(of(30, slots - 1), [B, 1]),
      });
      seen.add((out.logits!.data as Float32Array).subarray(0, c.vocab).join());
      await session.close();
    }
    assert.equal(seen.size, 1);
  });

  it('decoding steps give the log-probs of the scoring graph, with a merged adapter too', async () => {
    const model = loadModel(fixture);
    const { config: c } = model;
    const adapter = noisy(engine);
    const { prompt: tokens } = randomRow('score', 40);
    const [slots, P] = [64, 8];
    const decode = await GraphSession.open(encodeModel(buildDecodeGraph(c, slots)));
    for (const used of [undefined, adapter]) {
      const scored = (await engine.logprobs([{ tokens }], { adapter: used, temperature: 1 }))[0]!;
      const merged = used ? mergeLora(c, model.weights, used) : model.weights;
      const feeds = Object.fromEntries([...merged].map(([n, t]) => [n, tensor(t.data, t.shape)]));
      const caches = Array.from({ length: 2 * c.layers }, () => new Float32Array(2 * c.kvHeads * slots * c.headDim));
      caches.forEach((data, i) => {
        feeds[`${i % 2 ? 'v' : 'k'}${i >> 1}`] = tensor(data, [2, c.kvHeads, slots, c.headDim]);
      });
      const mask = new Float32Array(2 * slots).fill(MASKED);
      for (let t = 0; t + 1 < tokens.length; t++) {
        const ids = tensor(BigInt64Array.of(BigInt(tokens[t]!), 0n), [2]);
        const positions = tensor(BigInt64Array.of(BigInt(t), 0n), [2, 1]);
        const out = await decode.run({ ...feeds, ids, positions, mask: tensor(mask, [2, 1, 1, slots]) });
        const logits = Array.from((out.logits!.data as Float32Array).subarray(0, c.vocab));
        const kv = out.kv!.data as Float32Array;
        caches.forEach((data, i) => {
          for (let h = 0; h < c.kvHeads; h++)
            data.set(
              kv.subarray((i * 2 * c.kvHeads + h) * c.headDim).subarray(0, c.headDim),
              (h * slots + t) * c.headDim,
            );
        });
        mask[t] = 0;
        const largest = Math.max(...logits);
        const z = largest + Math.log(logits.reduce((s, x) => s + Math.exp(x - largest), 0));
        if (t < P) continue;
        const logprob = logits[tokens[t + 1]!]! - z;
        assert.ok(Math.abs(logprob - scored[t + 1]!) < 1e-4, `token ${t + 1}: ${logprob} against ${scored[t + 1]}`);
      }
    }
    await decode.close();
  });

  it('an answer stops at a stop token, at maxNewTokens or at the end of the context', async () => {
    const { contextLength } = engine.info;
    const long = randomRow('long', contextLength - 3);
    const full = randomRow('full', contextLength);
    const [a, b] = await engine.generate([long, full], { ...sample, stopTokens: [] });
    assert.equal(a!.tokens.length, 3);
    assert.equal(a!.finished, false);
    assert.deepEqual(b, { tokens: [], finished: false });
    const free = (await engine.generate([randomRow('s', 9)], { ...sample, stopTokens: [] }))[0]!;
    assert.equal(free.tokens.length, 40);
    const stop = free.tokens[7]!;
    const at = free.tokens.indexOf(stop);
    const stopped = (await engine.generate([randomRow('s', 9)], { ...sample, stopTokens: [stop] }))[0]!;
    assert.deepEqual(stopped, { tokens: free.tokens.slice(0, at + 1), finished: true });
  });

  it('an abort stops generation, progress counts every token, and no rows give no answers', async () => {
    const rows = Array.from({ length: 80 }, (_, i) => randomRow(`a${i}`, 20));
    const controller = new AbortController();
    let seen = 0;
    const options = { ...sample, maxNewTokens: 200, stopTokens: [] };
    const stopping = engine.generate(rows, {
      ...options,
      signal: controller.signal,
      onProgress: (n) => {
        seen += n;
        controller.abort(new Error('enough'));
      },
    });
    await assert.rejects(stopping, /enough/);
    assert.ok(seen < 80 * 200);
    let counted = 0;
    const answers = await engine.generate(rows.slice(0, 40), { ...sample, onProgress: (n) => (counted += n) });
    assert.equal(
      counted,
      answers.reduce((n, a) => n + a.tokens.length, 0),
    );
    assert.deepEqual(await engine.generate([], sample), []);
  });

  it('rows and options that cannot be are refused by name', async () => {
    const row = randomRow('x', 3);
    await assert.rejects(engine.generate([{ ...row, prompt: [] }], sample), /row 0: there are no tokens/);
    await assert.rejects(engine.generate([{ ...row, prompt: [VOCAB] }], sample), /token 67 is outside 0\.\.66/);
    await assert.rejects(engine.generate([row], { ...sample, temperature: -1 }), /temperature/);
    await assert.rejects(engine.generate([row], { ...sample, topP: 0 }), /topP/);
    const adapter = { rank: 4, alpha: 8, values: new Float32Array(3) };
    await assert.rejects(engine.generate([row], { ...sample, adapter }), /adapter has 3 values, rank 4/);
  });

  it('cache sizes are multiples of 64 and leave room', () => {
    for (const needed of [1, 64, 65, 250, 257, 500, 600, 4000]) {
      assert.ok(cacheSlots(needed) >= needed);
      assert.equal(cacheSlots(needed) % 64, 0);
    }
  });
});

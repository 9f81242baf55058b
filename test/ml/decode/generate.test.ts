// Generation against transformers (recorded by test/ml/parity/record_generate.py) and against itself: a row's tokens
// must not depend on the rest of the batch, on padding or on the number of workers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deriveKey, RandomStream } from '../../../core/base/random.js';
import { ROOT } from '../../../infra/root.mjs';
import { DecodeSession } from '../../../ml/decode/decodeSession.js';
import { cacheWidth, KvCaches } from '../../../ml/decode/kvCaches.js';
import { GraphSession, tensor } from '../../../ml/device/runtime.js';
import type { Adapter, Engine, Generated, GenerateRequest } from '../../../ml/engine/engine.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { Graph } from '../../../ml/ir/graph.js';
import type { DecoderConfig } from '../../../ml/nn/config.js';
import { buildDecodeGraph } from '../../../ml/nn/decodeGraph.js';
import { FUSED_WEIGHTS, FusedWeights, fusedLayout, fuseWeights } from '../../../ml/nn/fusedWeights.js';
import { mergeLora } from '../../../ml/nn/mergeLora.js';
import { loadModel } from '../../support/loadModel.js';

const fixture = join(ROOT, 'test', 'ml', 'parity', 'generate');
const expected = JSON.parse(readFileSync(join(fixture, 'expected.json'), 'utf8')) as {
  generate: { prompt: number[]; tokens: number[]; logits: number[] }[];
};
const EOS = 2;
const VOCAB = 67;

const randomRow = (name: string, length: number): GenerateRequest => {
  const stream = new RandomStream('row', name);
  return { prompt: Array.from({ length }, () => stream.int(3, VOCAB - 1)), key: deriveKey('key', name) };
};
const noisy = (engine: Engine): Adapter => {
  const adapter = engine.initAdapter({ rank: 4, alpha: 8 }, 11);
  const stream = new RandomStream('noise');
  return { ...adapter, values: adapter.values.map((x) => x + 0.1 * (stream.uniform() - 0.5)) };
};
const sample = { maxNewTokens: 40, temperature: 1, stopTokens: [EOS] };

/** The decode graph over fused weights. */
async function openLogits(adapter?: Adapter): Promise<{ config: DecoderConfig; session: GraphSession }> {
  const { config, weights } = loadModel(fixture);
  const graph = buildDecodeGraph(config, (g) => new FusedWeights(g, config), { positions: 256, output: 'logits' });
  const data = fuseWeights(config, adapter ? mergeLora(config, weights, adapter) : weights);
  return {
    config,
    session: await GraphSession.open(graph, { memory: { location: FUSED_WEIGHTS, data } }),
  };
}

/** Logits after the last token of the first sequence. All sequences are read up to it, then step together. */
async function logitsAfter(c: DecoderConfig, session: GraphSession, rows: number[][], room = 3): Promise<number[]> {
  const int64 = (list: number[], dims = [list.length]) => tensor(BigInt64Array.from(list, BigInt), dims);
  const last = rows.map((row) => row.length - 1);
  const run = (ids: number[], positions: number[], [B, T]: [number, number], length: number[], feeds: object) => {
    const heads = [...Array(c.kvHeads).keys()];
    const kvIndices = length.flatMap((to, b) =>
      heads.flatMap((h) => [...Array(T).keys()].flatMap((t) => [b, h, to - T + t + 1])),
    );
    return session.run({
      ...feeds,
      ids: int64(ids),
      batch: int64([B, T, -1]),
      seqlensK: tensor(Int32Array.from(length), [B]),
      totalSequenceLength: tensor(Int32Array.of(Math.max(...length) + 1), []),
      kvIndices: int64(kvIndices, [kvIndices.length / 3, 3]),
      last: int64(T === 1 ? [...ids.keys()] : []),
      positions: int64(positions, [ids.length, 1]),
    });
  };
  const positions = Math.max(...last) + 1 + room;
  const caches = new KvCaches(c, rows.length, positions);
  caches.reserve(positions);
  for (const [b, row] of rows.entries()) {
    const read = row.slice(0, -1);
    if (read.length === 0) continue;
    const out = await run(read, [...read.keys()], [1, read.length], [read.length - 1], caches.empty(1));
    caches.write(b, 0, read.length, out.kv!.data as Float32Array, 1, 0);
  }
  const ids = rows.map((row) => row.at(-1)!);
  const out = await run(ids, last, [rows.length, 1], last, caches.feeds(0, rows.length));
  return Array.from((out.next!.data as Float32Array).subarray(0, c.vocab));
}

/** The bytes of keys and values of the longest of 13 rows, answer included. */
const rowBytes = (c: DecoderConfig): number => 4 * (5 + 9 * 12 + sample.maxNewTokens) * cacheWidth(c);

describe('generation', () => {
  let engine: Engine;
  before(async () => {
    engine = await openEngine(fixture, { workers: 2 });
  });
  after(() => engine.close());

  it('greedy tokens equal those of transformers for prompts of 1 to 90 tokens in one batch', async () => {
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

  it('logits after a prompt equal those of transformers', async () => {
    const { config, session } = await openLogits();
    for (const { prompt, logits } of expected.generate) {
      const mine = await logitsAfter(config, session, [prompt]);
      logits.forEach((x, i) => {
        assert.ok(Math.abs(x - mine[i]!) < 2e-5, `prompt of ${prompt.length}, logit ${i}: ${mine[i]} instead of ${x}`);
      });
    }
    await session.close();
  });

  it('a sequence gets the same tokens in any batch, in any order and on any number of workers', async () => {
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

  it('requests in groups of any size get the same bits', async () => {
    const model = loadModel(fixture);
    const session = new DecodeSession(model, model.config.contextLength);
    const rows = Array.from({ length: 13 }, (_, i) => randomRow(`b${i}`, 5 + 9 * i));
    const whole = await session.generate(rows, sample, {}, 1e9);
    for (const size of [1, 2, 5])
      for (let i = 0; i < rows.length; i += size) {
        const part = await session.generate(rows.slice(i, i + size), sample, {}, 1e9);
        assert.deepEqual(part.answers, whole.answers.slice(i, i + size));
        assert.deepEqual(part.caches, whole.caches.slice(i, i + size));
      }
    await session.close();
  });

  it('sequences wait if the keys and values of all of them do not fit into memory, and get the same bits', async () => {
    const model = loadModel(fixture);
    const rows = Array.from({ length: 13 }, (_, i) => randomRow(`w${i}`, 5 + 9 * i));
    const generate = async (batchBytes?: number) => {
      const session = new DecodeSession(model, model.config.contextLength, undefined, undefined, batchBytes);
      const steps: number[] = [];
      const { answers } = await session.generate(rows, sample, { onTokens: (sampled) => steps.push(sampled) });
      await session.close();
      return { answers, most: Math.max(...steps) };
    };
    const [all, few, one] = [await generate(), await generate(3.5 * rowBytes(model.config)), await generate(1)];
    assert.deepEqual([all.most, few.most, one.most], [13, 3, 1]);
    assert.deepEqual([few.answers, one.answers], [all.answers, all.answers]);
  });

  it('queries are scaled in the weights if that is exact, and otherwise in the graph', () => {
    const { config, weights } = loadModel(fixture);
    const [q, k] = ['q', 'k'].map((p) => `model.layers.1.self_attn.${p}_proj.weight`) as [string, string];
    const joined = (headDim: number, more: object = {}) => {
      const [heads, kvHeads] = [config.heads, config.kvHeads].map((n) => (n * config.headDim) / headDim) as [
        number,
        number,
      ];
      const c = { ...config, headDim, heads, kvHeads, ...more };
      const flat = fuseWeights(c, weights);
      const of = (name: string) => {
        const { offset, shape } = fusedLayout(c).find((entry) => entry.name === name)!;
        return flat.slice(offset, offset + shape.reduce((a, b) => a * b, 1));
      };
      return { of, scale: new FusedWeights(new Graph(), c).scoreScale };
    };
    const known = (name: string) => weights.get(name)!.data;
    const exact = joined(16);
    assert.deepEqual([exact.of(q), exact.of(k), exact.scale], [known(q).map((x) => x / 4), known(k), 1]);
    const inexact = joined(8);
    assert.deepEqual([inexact.of(q), inexact.scale], [known(q), 1 / Math.sqrt(8)]);
    assert.deepEqual(joined(16, { qkNorm: true }).of(q), known(q), 'the norm of queries has it');
  });

  it('logits are the same bits in every batch and with any cache size', async () => {
    const { config, session } = await openLogits();
    const of = (name: string, length: number): number[] => randomRow(name, length).prompt;
    const mine = of('bits', 45);
    const seen = new Set<string>();
    for (const others of [0, 1, 8, 31])
      for (const room of [0, 5, 64]) {
        const rows = [mine, ...Array.from({ length: others }, (_, i) => of(`o${i}`, 45 + i))];
        seen.add((await logitsAfter(config, session, rows, room)).join());
      }
    assert.equal(seen.size, 1);
    await session.close();
  });

  it('decoding steps give the log-probs of the scoring graph, even with a merged adapter', async () => {
    const adapter = noisy(engine);
    const { prompt: tokens } = randomRow('score', 40);
    for (const used of [undefined, adapter]) {
      const scored = (await engine.logprobs([{ tokens }], { adapter: used, temperature: 1 }))[0]!;
      const { config, session } = await openLogits(used);
      for (let t = 8; t + 1 < tokens.length; t++) {
        const logits = await logitsAfter(config, session, [tokens.slice(0, t + 1)]);
        const largest = Math.max(...logits);
        const z = largest + Math.log(logits.reduce((s, x) => s + Math.exp(x - largest), 0));
        const logprob = logits[tokens[t + 1]!]! - z;
        assert.ok(Math.abs(logprob - scored[t + 1]!) < 1e-4, `token ${t + 1}: ${logprob} against ${scored[t + 1]}`);
      }
      await session.close();
    }
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
    const [first, second, third] = free.tokens;
    for (const stopSequences of [
      [[second!, third!]],
      [
        [third!, 1],
        [first!, second!, third!],
      ],
    ]) {
      const [ended] = await engine.generate([randomRow('s', 9)], { ...sample, stopTokens: [], stopSequences });
      assert.deepEqual(ended, { tokens: free.tokens.slice(0, 3), finished: true });
    }
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

  it('refuses invalid rows and options and names the field', async () => {
    const row = randomRow('x', 3);
    await assert.rejects(engine.generate([{ ...row, prompt: [] }], sample), /row 0: there are no tokens/);
    await assert.rejects(engine.generate([{ ...row, prompt: [VOCAB] }], sample), /token 67 is outside 0\.\.66/);
    await assert.rejects(engine.generate([row], { ...sample, temperature: -1 }), /temperature/);
    await assert.rejects(engine.generate([row], { ...sample, topP: 0 }), /topP/);
    await assert.rejects(engine.generate([row], { ...sample, topK: 0 }), /topK must be a positive integer, is 0/);
    await assert.rejects(
      engine.generate([row], { ...sample, repetitionPenalty: 0 }),
      /repetitionPenalty must be above 0/,
    );
    const adapter = { rank: 4, alpha: 8, values: new Float32Array(3) };
    await assert.rejects(engine.generate([row], { ...sample, adapter }), /adapter has 3 values, rank 4/);
  });

  it('returns log-probs of the sampled tokens on request: those of the tempered distribution, 0 for greedy', async () => {
    const row = randomRow('told', 25);
    const options = { ...sample, temperature: 0.7, logprobs: true };
    const [told] = await engine.generate([row], options);
    const tokens = [...row.prompt, ...told!.tokens];
    const scored = (await engine.logprobs([{ tokens }], { temperature: 0.7 }))[0]!;
    assert.equal(told!.logprobs!.length, told!.tokens.length);
    for (const [i, p] of told!.logprobs!.entries())
      assert.ok(Math.abs(p - scored[row.prompt.length + i]!) < 1e-4, `token ${i}`);
    const [cut] = await engine.generate([row], { ...options, topK: 1 });
    const [greedy] = await engine.generate([row], { ...options, temperature: 0 });
    assert.deepEqual(cut, greedy);
    assert.ok(greedy!.logprobs!.every((p) => p === 0));
    assert.equal((await engine.generate([row], sample))[0]!.logprobs, undefined);
  });

  it('refuses head sizes that the attention kernel does not support', () => {
    const config = { ...loadModel(fixture).config, headDim: 12 };
    const build = () =>
      buildDecodeGraph(config, (g) => new FusedWeights(g, config), { positions: 8, output: 'greedy' });
    assert.throws(build, /head_dim must be a multiple of 8 to generate, is 12/);
  });
});

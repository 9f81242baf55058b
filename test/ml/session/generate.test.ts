// Generation against transformers (recorded by test/ml/parity/record_generate.py) and against itself: a row's tokens
// must not hang on its neighbours, on padding or on the number of workers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deriveKey, RandomStream } from '../../../core/random.js';
import { packageRoot } from '../../../data/paths.js';
import { loadModel } from '../../../ml/hf/model.js';
import type { DecoderConfig } from '../../../ml/nn/config.js';
import { buildDecodeGraph } from '../../../ml/nn/decodeGraph.js';
import { JOINED, JoinedWeights, joinWeights } from '../../../ml/nn/decodeWeights.js';
import { mergeLora } from '../../../ml/nn/mergeLora.js';
import { encodeModel } from '../../../ml/onnx/encode.js';
import { DecodeSession } from '../../../ml/session/decodeSession.js';
import type { Adapter, Engine, Generated, GenerateRow } from '../../../ml/session/engine.js';
import { openEngine } from '../../../ml/session/ortEngine.js';
import { RowCaches } from '../../../ml/session/rowCaches.js';
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

/** The decode graph itself, over joined weights. */
async function openLogits(adapter?: Adapter): Promise<{ config: DecoderConfig; session: GraphSession }> {
  const { config, weights } = loadModel(fixture);
  const graph = buildDecodeGraph(config, (g) => new JoinedWeights(g, config), { positions: 256, choice: 'logits' });
  const data = joinWeights(config, adapter ? mergeLora(config, weights, adapter) : weights);
  return { config, session: await GraphSession.open(encodeModel(graph), { memory: { location: JOINED, data } }) };
}

/**
 * Logits after the first row's last token. The first row is read in segments that end at `splits`, then its last token
 * is stepped beside the other rows, which are read up to their last token.
 */
async function logitsAfter(
  c: DecoderConfig,
  session: GraphSession,
  rows: number[][],
  splits: readonly number[],
  room = 3,
): Promise<number[]> {
  const caches = new RowCaches(c, rows.length);
  caches.reserve(Math.max(...rows.map((row) => row.length)) + room);
  const run = (
    ids: number[],
    from: number,
    [B, T]: [number, number],
    length: number[],
    feeds: object,
    steps: boolean,
  ) =>
    session.run({
      ...feeds,
      ids: tensor(BigInt64Array.from(ids, BigInt), [ids.length]),
      batch: tensor(BigInt64Array.of(BigInt(B), BigInt(T), -1n), [3]),
      length: tensor(Int32Array.from(length), [B]),
      longest: tensor(Int32Array.of(Math.max(...length) + 1), []),
      places: tensor(
        BigInt64Array.from(
          length.flatMap((last, b) =>
            Array.from({ length: c.kvHeads }, (_, h) =>
              (steps ? [last] : Array.from({ length: T }, (_, t) => from + t)).map((t) => [b, h, t]),
            ).flat(2),
          ),
          BigInt,
        ),
        [B * c.kvHeads * T, 3],
      ),
      last: tensor(BigInt64Array.from(steps ? [...ids.keys()] : [], BigInt), [steps ? ids.length : 0]),
      positions: tensor(
        BigInt64Array.from(ids, (_, i) => BigInt(steps ? length[i]! : from + i)),
        [ids.length, 1],
      ),
    });
  for (const [b, row] of rows.entries()) {
    let from = 0;
    for (const to of b === 0 ? splits : [row.length - 1]) {
      if (to <= from) continue;
      const past = from === 0 ? caches.empty(1) : caches.feeds(b, b + 1);
      const out = await run(row.slice(from, to), from, [1, to - from], [to - 1], past, false);
      caches.write(b, from, to - from, out.kv!.data as Float32Array, 1, 0);
      from = to;
    }
  }
  const last = rows.map((row) => row.length - 1);
  const ids = rows.map((row) => row.at(-1)!);
  const out = await run(ids, 0, [rows.length, 1], last, caches.feeds(0, rows.length), true);
  return Array.from((out.next!.data as Float32Array).subarray(0, c.vocab));
}

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
    const { config, session } = await openLogits();
    for (const { prompt, logits } of expected.generate) {
      const mine = await logitsAfter(config, session, [prompt], [Math.max(0, prompt.length - 1)]);
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
    const session = new DecodeSession(model, model.config.contextLength);
    const rows = Array.from({ length: 13 }, (_, i) => randomRow(`b${i}`, 5 + 9 * i));
    const whole = await session.generate(rows, sample);
    for (const size of [1, 2, 5]) {
      const parts: Generated[] = [];
      for (let i = 0; i < rows.length; i += size)
        parts.push(...(await session.generate(rows.slice(i, i + size), sample)).answers);
      assert.deepEqual(parts, whole.answers);
    }
    await session.close();
  });

  it('the bits of a row of logits are the same in every batch, after every split of its prompt, with any room', async () => {
    const { config, session } = await openLogits();
    const of = (name: string, length: number): number[] => randomRow(name, length).prompt;
    const mine = of('bits', 45);
    const seen = new Set<string>();
    for (const [others, splits] of [
      [0, [44]],
      [1, [44]],
      [8, [44]],
      [31, [44]],
    ] as const) {
      const rows = [mine, ...Array.from({ length: others }, (_, i) => of(`o${i}`, 45 + i))];
      for (const room of [0, 5, 64]) seen.add((await logitsAfter(config, session, rows, splits, room)).join());
    }
    assert.equal(seen.size, 1);
    await session.close();
  });

  it('decoding steps give the log-probs of the scoring graph, with a merged adapter too', async () => {
    const adapter = noisy(engine);
    const { prompt: tokens } = randomRow('score', 40);
    for (const used of [undefined, adapter]) {
      const scored = (await engine.logprobs([{ tokens }], { adapter: used, temperature: 1 }))[0]!;
      const { config, session } = await openLogits(used);
      for (let t = 8; t + 1 < tokens.length; t++) {
        const logits = await logitsAfter(config, session, [tokens.slice(0, t + 1)], [t]);
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
});

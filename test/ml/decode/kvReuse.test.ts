// Tests that cached keys and values never change a result: tokens and recomputed keys and values are equal bit for bit.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { deriveKey, RandomStream } from '../../../core/base/random.js';
import { ROOT } from '../../../infra/root.mjs';
import type { CachedPrefix } from '../../../ml/decode/decodeBatch.js';
import { DecodeSession } from '../../../ml/decode/decodeSession.js';
import { KvStore } from '../../../ml/decode/kvStore.js';
import { rangesFault, segmentsOf } from '../../../ml/decode/segments.js';
import type { Adapter, Engine, EngineOptions, GenerateRequest } from '../../../ml/engine/engine.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { loadModel } from '../../support/loadModel.js';

const fixture = join(ROOT, 'test', 'ml', 'parity', 'generate');
const STAGES = 5;
const sample = { maxNewTokens: 12, temperature: 1, stopTokens: [2] };

interface History {
  tokens: number[];
  sampled: [number, number][];
}

/** The next prompt of a chain. Its random tokens depend only on the chain and the stage. */
function prompt(chain: number, stage: number): number[] {
  const random = new RandomStream('turn', chain, stage);
  return Array.from({ length: stage === 0 ? 20 + 3 * chain : 1 + 4 * (chain % 3) }, () => random.int(3, 66));
}
const rowOf = (history: History, chain: number, stage: number): GenerateRequest => ({
  prompt: [...history.tokens, ...prompt(chain, stage)],
  key: deriveKey('answer', chain, stage),
  sampled: history.sampled,
});
function extend(history: History, row: GenerateRequest, answer: number[]): History {
  const from = row.prompt.length;
  return { tokens: [...row.prompt, ...answer], sampled: [...history.sampled, [from, from + answer.length]] };
}

/** Runs six chains of five stages. Each call generates one stage of all chains. */
async function runChains(
  engine: Engine,
  adapter?: Adapter,
  between?: (stage: number) => Promise<unknown>,
): Promise<History[]> {
  let chains = Array.from({ length: 6 }, (): History => ({ tokens: [], sampled: [] }));
  for (let stage = 0; stage < STAGES; stage++) {
    const rows = chains.map((history, chain) => rowOf(history, chain, stage));
    const answers = await engine.generate(rows, { ...sample, adapter });
    chains = chains.map((history, chain) => extend(history, rows[chain]!, answers[chain]!.tokens));
    await between?.(stage);
  }
  return chains;
}
async function withEngine<T>(options: EngineOptions, work: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = await openEngine(fixture, options);
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

describe('the cache of keys and values between calls', () => {
  it('reads every prompt token of a five-stage chain once and feeds no sampled token twice', async () => {
    await withEngine({ workers: 2 }, async (engine) => {
      const chains = await runChains(engine);
      const { prefilled, redecoded, reused, sampled } = engine.stats();
      const all = chains.reduce((n, { tokens }) => n + tokens.length, 0);
      assert.equal(
        sampled,
        chains.flatMap((c) => c.sampled).reduce((n, [from, to]) => n + to - from, 0),
      );
      assert.equal(redecoded, 0);
      // a sampling step reads the last token of a prompt; the next prompt reads the last token of an answer
      assert.equal(prefilled, all - sampled - chains.length);
      assert.ok(reused > prefilled);
    });
  });

  it('recomputes whole histories without a cache and gets the same tokens', async () => {
    const kept = await withEngine({ workers: 2 }, (engine) => runChains(engine));
    for (const options of [{ workers: 1, kvCacheBytes: 0 }, { workers: 2, kvCacheBytes: 0 }, { workers: 1 }]) {
      await withEngine(options, async (engine) => {
        assert.deepEqual(await runChains(engine), kept);
        assert.equal(engine.stats().redecoded > 0, options.kvCacheBytes === 0);
        assert.equal(engine.stats().reused > 0, options.kvCacheBytes !== 0);
      });
    }
  });

  it('recomputes evicted entries, gets the same tokens and stays within its limit', async () => {
    const adapter = await withEngine({ workers: 1 }, async (engine) => {
      const zero = engine.initAdapter({ rank: 2, alpha: 4 }, 5);
      return { ...zero, values: zero.values.map((x, i) => x + 0.05 * Math.sin(i)) };
    });
    const kept = await withEngine({ workers: 2 }, (engine) => runChains(engine, adapter));
    await withEngine({ workers: 2, kvCacheBytes: 120_000 }, async (engine) => {
      const other = async (stage: number): Promise<unknown> =>
        stage % 2 === 0 ? engine.generate([{ prompt: prompt(9, stage), key: [1, stage] }], sample) : undefined;
      assert.deepEqual(await runChains(engine, adapter, other), kept);
      const { reused, redecoded } = engine.stats();
      assert.ok(reused > 0 && redecoded > 0, `${reused} reused, ${redecoded} redecoded`);
    });
  });

  it('is separate for every adapter', async () => {
    await withEngine({ workers: 1 }, async (engine) => {
      const row = { prompt: prompt(1, 0), key: [3, 4] as const };
      const adapter = engine.initAdapter({ rank: 2, alpha: 4 }, 5);
      adapter.values.fill(0.05);
      const plain = await engine.generate([row], sample);
      await engine.generate([row], { ...sample, adapter });
      assert.equal(engine.stats().reused, 0);
      assert.deepEqual(await engine.generate([row], sample), plain);
      assert.equal(engine.stats().reused, row.prompt.length - 1);
    });
  });

  it('has the same bits as recomputed keys and values in any batch', async () => {
    const model = loadModel(fixture);
    const session = new DecodeSession(model, model.config.contextLength);
    const bits = ({ length, kv }: CachedPrefix): [number, number[]] => [length, [...kv]];
    for (const chain of [0, 1, 2]) {
      let history: History = { tokens: [], sampled: [] };
      let cached: CachedPrefix | undefined;
      for (let stage = 0; stage < STAGES; stage++) {
        const row = rowOf(history, chain, stage);
        const reused = await session.generate([{ ...row, cached }], sample, {}, 1e9);
        const crowd = Array.from({ length: 5 }, (_, i) => rowOf({ tokens: [], sampled: [] }, i + 3, 0));
        const again = await session.generate([...crowd, row], sample, {}, 1e9);
        assert.deepEqual(again.answers.at(-1), reused.answers[0]);
        assert.deepEqual(bits(again.caches.at(-1)!), bits(reused.caches[0]!), `chain ${chain}, stage ${stage}`);
        cached = reused.caches[0]!;
        history = extend(history, row, reused.answers[0]!.tokens);
      }
    }
    await session.close();
  });

  it('returns no more bytes of caches than asked for, and the same tokens', async () => {
    const model = loadModel(fixture);
    const session = new DecodeSession(model, model.config.contextLength);
    const rows = Array.from({ length: 6 }, (_, chain) => rowOf({ tokens: [], sampled: [] }, chain, 0));
    const sizes = (caches: (CachedPrefix | undefined)[]) => caches.flatMap((cache) => cache?.kv.byteLength ?? []);
    const sum = (bytes: number[]) => bytes.reduce((a, b) => a + b, 0);
    const all = await session.generate(rows, sample, {}, 1e9);
    assert.equal(sizes(all.caches).length, rows.length);
    const limit = sum(sizes(all.caches)) / 2;
    const some = await session.generate(rows, sample, {}, limit);
    assert.deepEqual(some.answers, all.answers);
    assert.ok(sum(sizes(some.caches)) <= limit && sizes(some.caches).length > 0, `${sizes(some.caches)}`);
    assert.deepEqual(sizes((await session.generate(rows, sample)).caches), []);
    await session.close();
  });

  it('refuses an invalid sampled range and names the row', async () => {
    await withEngine({ workers: 1 }, async (engine) => {
      const row = { prompt: [5, 6, 7], key: [0, 0] as const };
      await assert.rejects(
        engine.generate([row, { ...row, sampled: [[1, 4]] }], sample),
        /row 1: sampled range \[1, 4\)/,
      );
    });
  });
});

describe('segments of a sequence', () => {
  it('sampling steps read from the last prompt token to the last answer token but one; blocks cover the rest', () => {
    const steps = (from: number, to: number) => ({ from, to, steps: true });
    const read = (from: number, to: number) => ({ from, to, steps: false });
    assert.deepEqual(segmentsOf(1), [steps(0, 1)]);
    assert.deepEqual(segmentsOf(10), [read(0, 9), steps(9, 10)]);
    assert.deepEqual(segmentsOf(12, [[4, 9]]), [read(0, 3), steps(3, 8), read(8, 11), steps(11, 12)]);
    assert.deepEqual(segmentsOf(9, [[4, 9]]), [read(0, 3), steps(3, 9)]);
    assert.deepEqual(
      segmentsOf(8, [
        [1, 3],
        [3, 5],
        [6, 7],
      ]),
      [steps(0, 4), read(4, 5), steps(5, 6), read(6, 7), steps(7, 8)],
    );
    assert.deepEqual(
      segmentsOf(600).map(({ to }) => to),
      [256, 512, 599, 600],
    );
  });

  it('ranges must be inside the prompt, in order, after at least one token', () => {
    assert.equal(
      rangesFault(9, [
        [1, 3],
        [3, 9],
      ]),
      undefined,
    );
    for (const bad of [
      [[0, 2]],
      [[2, 2]],
      [
        [3, 5],
        [4, 6],
      ],
      [[8, 10]],
      [[1.5, 3]],
    ] as [number, number][][])
      assert.match(rangesFault(9, bad)!, /sampled range/);
  });
});

describe('the KV store', () => {
  const cache = (length: number): CachedPrefix => ({ length, kv: new Float32Array(length * 4) });
  const tokens = Array.from({ length: 60 }, (_, i) => i);
  const filled = (length: number, sampled: [number, number][]) => {
    const all = segmentsOf(length + 1, sampled);
    return [...all.slice(0, -1), { ...all.at(-1)!, to: length }];
  };

  it('finds the longest prefix with the same segments, without the last token', () => {
    const store = new KvStore(1e6);
    store.add('a', tokens, filled(20, [[10, 21]]), cache(20));
    assert.equal(store.find('a', tokens.slice(0, 30), segmentsOf(30, [[10, 21]]))?.length, 20);
    assert.equal(store.find('a', tokens.slice(0, 10), segmentsOf(10))?.length, 9);
    assert.equal(store.find('a', tokens.slice(0, 30), segmentsOf(30)), undefined, 'those were read, not sampled');
    assert.equal(store.find('b', tokens.slice(0, 30), segmentsOf(30, [[10, 21]])), undefined, 'other weights');
    assert.equal(store.find('a', [9, ...tokens.slice(1, 30)], segmentsOf(30, [[10, 21]])), undefined);
    store.add(
      'a',
      tokens,
      filled(40, [
        [10, 21],
        [30, 41],
      ]),
      cache(40),
    );
    assert.equal(
      store.find(
        'a',
        tokens.slice(0, 45),
        segmentsOf(45, [
          [10, 21],
          [30, 41],
        ]),
      )?.length,
      40,
    );
    assert.equal(
      store.find('a', tokens.slice(0, 30), segmentsOf(30, [[10, 21]]))?.kv.length,
      160,
      'the longer holds it',
    );
  });

  it('evicts the least recently used entry to stay within its limit', () => {
    const store = new KvStore(3 * 20 * 16);
    const row = (first: number) => [first, ...tokens.slice(1)];
    const has = (first: number) => store.find('a', row(first).slice(0, 30), segmentsOf(30, [[10, 21]])) !== undefined;
    for (const first of [100, 101, 102]) store.add('a', row(first), filled(20, [[10, 21]]), cache(20));
    assert.ok(has(100));
    store.add('a', row(103), filled(20, [[10, 21]]), cache(20));
    assert.deepEqual([100, 101, 102, 103].map(has), [true, false, true, true]);
    store.add('a', row(104), filled(59, [[10, 60]]), cache(61));
    assert.deepEqual([100, 102, 103].map(has), [true, true, true], 'what is larger than all room is not kept');
  });
});

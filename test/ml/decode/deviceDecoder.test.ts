// Tests the decoder of a GPU on the host: which requests it takes, and what it does with adapters and kinds of weights.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { deriveKey, RandomStream } from '../../../core/base/random.js';
import { ROOT } from '../../../infra/root.mjs';
import { type DecodeOptions, DecodeSession } from '../../../ml/decode/decodeSession.js';
import { DeviceDecoder, deviceDecoderBytes, generateWithBoth } from '../../../ml/decode/deviceDecoder.js';
import { countOwned } from '../../../ml/device/owned.js';
import { locateWeights } from '../../../ml/device/weightLocations.js';
import type { SessionModel } from '../../../ml/engine/base.js';
import type { GenerateRequest } from '../../../ml/engine/engine.js';
import { describeModel, readWeights } from '../../../ml/hf/model.js';
import type { CacheType } from '../../../ml/nn/cacheAttention.js';
import { type IdentifiedAdapter, layoutSize, loraLayout } from '../../../ml/nn/layout.js';

const files = describeModel(join(ROOT, 'data', 'tiny-model'));
const { config } = files;
const fed: SessionModel = { config, weights: readWeights(files.stored) };
const mapped: SessionModel = { config, locations: locateWeights(files.stored) };
const OPTIONS = { maxNewTokens: 20, temperature: 0, stopTokens: files.eosTokens };

const random = new RandomStream('device decoder');
const requests = Array.from({ length: 6 }, (_, i) => ({
  prompt: Array.from({ length: random.int(1, 60) }, () => random.int(2, 389)),
  key: deriveKey('device decoder', i),
}));
const LONG = { prompt: new Array<number>(2040).fill(5), key: deriveKey('long', 0) };
function adapterOf(digest: string, rank: number): IdentifiedAdapter {
  const values = new Float32Array(layoutSize(loraLayout(config, rank))).map(() => 0.05 * random.normal());
  return { rank, alpha: 2 * rank, values, digest };
}

const open = (model: SessionModel, contextLength = 128, type: CacheType = 'float16'): DeviceDecoder =>
  new DeviceDecoder(model, contextLength, { memory: 'cpu', type, rows: 4 });
async function tokensOf(decoder: DeviceDecoder, adapter?: IdentifiedAdapter): Promise<string[]> {
  decoder.use(adapter);
  const { answers, caches } = await decoder.generate(requests, OPTIONS);
  assert.ok(caches.every((cache) => cache === undefined));
  return answers.map(({ tokens }) => tokens.join());
}

describe('the decoder of a device', () => {
  afterEach(() => assert.equal(countOwned(), 0));

  it('gives the same tokens from weights in memory and in files, nearly those of f32, with every adapter', async () => {
    const [a, b] = [adapterOf('a', 4), adapterOf('b', 2)];
    const decoders = [open(fed), open(mapped)];
    const of = (adapter?: IdentifiedAdapter) => Promise.all(decoders.map((decoder) => tokensOf(decoder, adapter)));
    const results = [await of(), await of(a), await of(b), await of(a), await of()];
    for (const [inMemory, inFiles] of results) assert.deepEqual(inFiles, inMemory);
    const [base, withA, withB, again, atLast] = results.map(([first]) => first!);
    assert.deepEqual(again, withA);
    assert.deepEqual(atLast, base);
    for (const other of [withA, withB]) assert.notDeepEqual(other, base);
    for (const decoder of decoders) decoder.close();
    const exact = new DecodeSession(fed, 128);
    for (const [adapter, found] of [
      [undefined, base],
      [a, withA],
    ] as const) {
      exact.use(adapter);
      const { answers } = await exact.generate(requests, OPTIONS);
      const equal = answers.filter(({ tokens }, i) => tokens.join() === found![i]);
      assert.ok(equal.length >= 4, `${equal.length} of ${requests.length} answers are those in f32`);
    }
    await exact.close();
  });

  it('gives in f32 the tokens that the decoder for a CPU gives, with and without an adapter', async () => {
    const [decoder, session] = [open(fed, 128, 'float32'), new DecodeSession(fed, 128)];
    for (const adapter of [undefined, adapterOf('a', 4)]) {
      session.use(adapter);
      const { answers } = await session.generate(requests, OPTIONS);
      assert.deepEqual(
        await tokensOf(decoder, adapter),
        answers.map(({ tokens }) => tokens.join()),
      );
    }
    decoder.close();
    await session.close();
  });

  it('leaves requests that its graphs cannot compute to the other decoder', () => {
    const [request] = requests;
    const can = (options: Partial<DecodeOptions>, decoder = open(fed)) =>
      decoder.canGenerate(request!, { ...OPTIONS, ...options });
    assert.ok(can({}));
    assert.ok(can({ temperature: 1, topK: 5, topP: 0.9 }));
    assert.ok(!can({ repetitionPenalty: 1.1 }));
    assert.ok(!can({ logprobs: true }));
    assert.ok(!open(fed, 4096).canGenerate(LONG, OPTIONS), 'a row has 2,048 positions');
    const packed = new Map([...mapped.locations!].slice(0, 1).map(([name]) => [name, { bits: 4 as const }]));
    assert.ok(!can({}, open({ config, locations: packed } as unknown as SessionModel)));
  });

  it('gives each request to one decoder, so that no answer depends on the other requests', async () => {
    const [decoder, session] = [open(fed, 4096), new DecodeSession(fed, 4096)];
    const generate = async (some: readonly GenerateRequest[]) => {
      const hooks = {};
      const { answers, caches, counts } = await generateWithBoth(decoder, session, some, OPTIONS, hooks, 1e9);
      return { tokens: answers.map(({ tokens }) => tokens.join()), cached: caches.map(Boolean), counts };
    };
    const [short, long] = [await generate(requests), await generate([LONG])];
    const mixed = await generate([requests[0]!, LONG, ...requests.slice(1)]);
    assert.deepEqual(mixed.tokens, [short.tokens[0], ...long.tokens, ...short.tokens.slice(1)]);
    assert.deepEqual(mixed.cached, [false, true, ...requests.slice(1).map(() => false)]);
    assert.equal(mixed.counts.sampled, short.counts.sampled + long.counts.sampled);
    decoder.close();
    await session.close();
  });

  it('needs memory for weights, their copy and 65 rows of keys and values', () => {
    const parameters = 134_515_008;
    const smol = { ...config, hidden: 576, layers: 30, heads: 9, kvHeads: 3, headDim: 64, ffn: 1536, vocab: 49_152 };
    const tied = { ...smol, tied: true, qkNorm: false, biases: [] };
    const caches = 65 * 2048 * 2 * 30 * 3 * 64;
    const merged = parameters - 49_152 * 576; // the embedding is not changed
    const bytes = { base: 2 * parameters, merged: 2 * merged, caches: 2 * caches };
    assert.deepEqual(deviceDecoderBytes(tied, 8192, 'float16'), bytes);
    assert.deepEqual(deviceDecoderBytes(tied, 8192, 'bfloat16'), { ...bytes, merged: 0 });
    assert.equal(deviceDecoderBytes(tied, 8192, 'float16', 12).caches, (bytes.caches * 13) / 65);
    assert.deepEqual(deviceDecoderBytes(tied, 8192, 'float32'), {
      base: 4 * parameters,
      merged: 4 * merged,
      caches: 4 * caches,
    });
  });
});

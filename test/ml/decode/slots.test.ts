// Slots give every row the same tokens as the engine, whatever else the device computes.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { deriveKey, RandomStream } from '../../../core/base/random.js';
import { ROOT } from '../../../infra/root.mjs';
import { BoundDevice } from '../../../ml/decode/boundDevice.js';
import type { DecodeOptions } from '../../../ml/decode/decodeSession.js';
import { DeviceWeights } from '../../../ml/decode/deviceWeights.js';
import { type RowStates, type SlotDevice, Slots } from '../../../ml/decode/slots.js';
import { BaseWeights } from '../../../ml/device/baseWeights.js';
import { countOwned } from '../../../ml/device/owned.js';
import type { Adapter, Engine, GenerateRequest } from '../../../ml/engine/engine.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { describeModel, type Weights } from '../../../ml/hf/model.js';
import { attentionFor, type CacheAttention, type CacheType } from '../../../ml/nn/cacheAttention.js';
import type { DecoderConfig } from '../../../ml/nn/config.js';
import { FUSED_WEIGHTS, FusedWeights, fuseWeights } from '../../../ml/nn/fusedWeights.js';
import { mergeLora } from '../../../ml/nn/mergeLora.js';
import { NO_TOKEN } from '../../../ml/nn/stepGraph.js';
import { loadModel } from '../../support/loadModel.js';
import { assertSameAnswers } from '../../support/sameAnswers.js';

const TINY = join(ROOT, 'data', 'tiny-model');
const ATTENTIONS: readonly CacheAttention[] = ['grouped', 'scattered'];
const SIZES = { rows: 8, positions: 160, steps: 7 };

function randomRequests(count: number, longest: number, vocab: number): GenerateRequest[] {
  const random = new RandomStream('slots', count, longest);
  const requests = Array.from({ length: count }, (_, i) => ({
    prompt: Array.from({ length: random.int(1, longest) }, () => random.int(2, vocab - 1)),
    key: deriveKey('slots', i),
  }));
  requests[1]!.prompt = [2]; // a prompt of one token needs no read before the first step
  return requests;
}

/** A device on the host, for the base model or for given weights. */
function openDevice(
  c: DecoderConfig,
  flat: Float32Array,
  attention: CacheAttention,
  sizes: { rows: number; positions: number; steps: number } = SIZES,
): BoundDevice {
  const externalData = { location: FUSED_WEIGHTS, data: flat };
  const session = { memory: 'cpu', config: { 'session.force_spinning_stop': '1' }, externalData } as const;
  return new BoundDevice(c, (g) => new FusedWeights(g, c), { ...sizes, attention, session });
}

/** A device whose weights are inputs. */
function openShared(
  c: DecoderConfig,
  weights: Weights,
  attention: CacheAttention,
  adapter: 'merged' | { beside: number },
  type: CacheType = 'float32',
): { device: BoundDevice; shared: DeviceWeights; base: BaseWeights } {
  const session = { memory: 'cpu' } as const;
  const base = new BaseWeights({ config: c, weights }, 'cpu', type);
  const shared = new DeviceWeights(c, base, adapter);
  const rank = adapter === 'merged' ? 0 : adapter.beside;
  const device = new BoundDevice(c, (g) => new FusedWeights(g, c, { type, rank }), {
    ...{ ...SIZES, attention, type, session },
    weights: shared.tensors,
  });
  return { device, shared, base };
}

function noisy(engine: Engine): Adapter {
  const adapter = engine.initAdapter({ rank: 4, alpha: 8 }, 11);
  const random = new RandomStream('noise');
  return { ...adapter, values: adapter.values.map((x) => x + 0.05 * random.normal()) };
}

/** Asserts that slots give the answers of the engine. @param weights those of the base, or with the adapter merged in */
async function assertEqualsEngine(
  engine: Engine,
  weights: Weights,
  device: BoundDevice,
  requests: GenerateRequest[],
  options: DecodeOptions,
  adapter?: Adapter,
): Promise<void> {
  const expected = await engine.generate(requests, {
    ...options,
    adapter,
    stopTokens: [...options.stopTokens],
    stopSequences: options.stopSequences?.map((stop) => [...stop]),
  });
  const { answers } = await new Slots(device, engine.info.contextLength).generate(requests, options);
  const { config } = describeModel(engine.info.path);
  const merged = adapter ? mergeLora(config, weights, adapter) : weights;
  await assertSameAnswers({ config, weights: merged }, requests, options, answers, expected);
}

describe('slots on bound memory', () => {
  afterEach(() => assert.equal(countOwned(), 0));

  describe('the shipped model', () => {
    const { config: c, weights, eosTokens } = loadModel(TINY);
    const flat = fuseWeights(c, weights);
    const requests = randomRequests(40, 110, 390);
    const stopTokens = [...eosTokens, 17];
    let engine: Engine;
    before(async () => {
      engine = await openEngine(TINY, { workers: 1, kvCacheBytes: 0 });
    });
    after(() => engine.close());

    const KINDS = {
      greedy: { temperature: 0 },
      sampled: { temperature: 0.9 },
      topK: { temperature: 1, topK: 20 },
      'topK and topP': { temperature: 1, topK: 50, topP: 0.9 },
      topP: { temperature: 0.8, topP: 0.8 },
    };
    for (const attention of ATTENTIONS)
      it(`gets the tokens of the engine from ${attention} attention, with stop tokens, limits and refilled rows`, async () => {
        const device = openDevice(c, flat, attention);
        for (const options of Object.values(KINDS))
          await assertEqualsEngine(engine, weights, device, requests, { ...options, maxNewTokens: 24, stopTokens });
        const greedy = { temperature: 0, maxNewTokens: 24, stopTokens };
        const [free] = await engine.generate(requests.slice(0, 1), greedy);
        const stopSequences = [free!.tokens.slice(2, 4)];
        await assertEqualsEngine(engine, weights, device, requests, { ...greedy, stopSequences });
        device.close();
      });

    it('gets the tokens of the engine with an adapter, merged or beside the weights, and then without it', async () => {
      const adapter = noisy(engine);
      for (const place of ['merged', { beside: adapter.rank }] as const)
        for (const attention of ATTENTIONS) {
          const { device, shared, base } = openShared(c, weights, attention, place);
          const options = { temperature: 1, maxNewTokens: 12, stopTokens };
          shared.use(adapter);
          await assertEqualsEngine(engine, weights, device, requests.slice(0, 16), options, adapter);
          shared.use(undefined);
          await assertEqualsEngine(engine, weights, device, requests.slice(0, 16), options);
          device.close();
          shared.close();
          base.close();
        }
    });

    it('has rows that differ only after a token that rounding decides', async () => {
      const random = new RandomStream('b2'); // two of these rows differ on an Intel Xeon
      const many = Array.from({ length: 256 }, (_, i) => {
        return { prompt: Array.from({ length: 64 }, () => random.int(2, 389)), key: deriveKey('d', 2, i) };
      });
      const device = openDevice(c, flat, 'grouped', { rows: 32, positions: 128, steps: 16 });
      const options = { temperature: 0.9, maxNewTokens: 64, stopTokens: [] };
      await assertEqualsEngine(engine, weights, device, many, options);
      device.close();
      const answers = await engine.generate(many.slice(0, 20), options);
      const wrong = answers.with(3, { tokens: [...answers[3]!.tokens.slice(0, 9), 7, 7], finished: false });
      const compared = assertSameAnswers({ config: c, weights }, many, options, wrong, answers);
      await assert.rejects(compared, /row 3, token 9: 7 instead of/);
    });

    it('refuses an adapter beside the weights that has another rank than the graphs', () => {
      const { device, shared, base } = openShared(c, weights, 'grouped', { beside: 8 });
      assert.throws(() => shared.use(noisy(engine)), /the adapter has rank 4, the graphs have rank 8/);
      device.close();
      shared.close();
      base.close();
    });

    it('most greedy answers in 16 bits are those of the engine', async () => {
      const options = { temperature: 0, maxNewTokens: 20, stopTokens };
      const expected = await engine.generate(requests, options);
      for (const attention of ATTENTIONS) {
        const { device, shared, base } = openShared(c, weights, attention, 'merged', 'float16');
        const { answers } = await new Slots(device, 512).generate(requests, options);
        const same = answers.filter(({ tokens }, i) => tokens.join() === expected[i]!.tokens.join());
        assert.ok(same.length >= 0.75 * requests.length, `${same.length} of ${requests.length}`);
        device.close();
        shared.close();
        base.close();
      }
    });

    it('an answer ends with the context, and a prompt that fills it gets none', async () => {
      const random = new RandomStream('context');
      const prompt = (length: number) => Array.from({ length }, () => random.int(2, 389));
      const ends = [509, 511, 512].map((length, i) => ({ prompt: prompt(length), key: deriveKey('end', i) }));
      for (const attention of ATTENTIONS) {
        const device = openDevice(c, flat, attention, { rows: 2, positions: 512, steps: 4 });
        await assertEqualsEngine(engine, weights, device, ends, { temperature: 1, maxNewTokens: 9, stopTokens: [] });
        device.close();
      }
    });

    it('refuses a prompt that does not fit into a row, and penalties', async () => {
      const device = openDevice(c, flat, 'grouped');
      const slots = new Slots(device, 512);
      const long = [{ prompt: new Array<number>(150).fill(5), key: deriveKey('long') }];
      const options = { temperature: 1, maxNewTokens: 11, stopTokens: [] };
      await assert.rejects(slots.generate(long, options), /a prompt of 150 and 11 tokens need more than 160 positions/);
      await assert.rejects(
        slots.generate(requests, { ...options, repetitionPenalty: 2 }),
        /cannot sample with a repetition penalty/,
      );
      device.close();
    });

    it('a row that has ended records no token, and the others go on', () => {
      const device = openDevice(c, flat, 'grouped', { rows: 3, positions: 16, steps: 4 });
      device.begin({ temperature: 0, maxNewTokens: 4, stopTokens: [] });
      const states: RowStates = {
        token: BigInt64Array.of(5n, 5n, 5n),
        position: BigInt64Array.of(0n, 0n, 14n),
        limit: BigInt64Array.of(4n, 0n, 1n), // row 2 waits at its last position
        uniforms: new Float64Array(12),
      };
      const emitted = Array.from(device.runSteps(states, 4), Number);
      const none = NO_TOKEN;
      assert.deepEqual(
        emitted.map((token) => (token >= 0 ? 'token' : token)),
        ['token', none, 'token', 'token', none, none, 'token', none, none, 'token', none, none],
      );
      assert.ok(emitted[0] !== emitted[3] || emitted[3] !== emitted[6], 'row 0 repeats itself');
      device.close();
    });

    it('refuses heads of a size that the kernel does not support', () => {
      const open = () => openDevice({ ...c, headDim: 12 }, flat, 'grouped');
      assert.throws(open, /head_dim must be a multiple of 8 to generate, is 12/);
    });

    it('fails on a device without room for the caches, and frees everything that it allocated', () => {
      assert.throws(() => openDevice(c, flat, 'grouped', { ...SIZES, rows: 1e9 }), /allocation failed/);
      assert.equal(countOwned(), 0);
    });

    it('fails with damaged weights', async () => {
      const damaged = flat.slice();
      damaged[c.hidden * 5] = Number.NaN; // a number in the embedding of token 5
      const device = openDevice(c, damaged, 'scattered');
      const options = { temperature: 1, maxNewTokens: 4, stopTokens: [] };
      await assert.rejects(new Slots(device, 512).generate(requests, options), {
        code: 'BAD_MODEL',
        message: /not finite/,
      });
      device.close();
    });
  });

  // heads of 8 to 128, which the kernel rotates or not; norms of q and k; biases; an untied output projection
  for (const name of [
    'llama-untied-bf16',
    'llama-tied-f32-biases',
    'qwen2-head128',
    'qwen3-untied-f32-sharded',
    'qwen3-tied-f16',
  ])
    it(`gives the tokens of the engine: ${name}`, async () => {
      const folder = join(ROOT, 'test', 'ml', 'parity', 'architectures', name);
      const { config: c, weights } = loadModel(folder);
      const engine = await openEngine(folder, { workers: 1, kvCacheBytes: 0 });
      for (const attention of ATTENTIONS) {
        const device = openDevice(c, fuseWeights(c, weights), attention);
        const options = { temperature: 1, maxNewTokens: 20, stopTokens: [2] };
        await assertEqualsEngine(engine, weights, device, randomRequests(20, 70, c.vocab), options);
        device.close();
      }
      await engine.close();
    });
});

/** A device that computes each token from the last one and the position. It records reads and chunks. */
class CountingDevice implements SlotDevice {
  readonly rows = 3;
  readonly positions = 300;
  readonly steps = 4;
  readonly reads: [length: number, rows: number[]][] = [];
  readonly chunks: number[] = [];
  begin(): void {}
  readStarts(starts: Parameters<SlotDevice['readStarts']>[0], length: number): void {
    this.reads.push([length, starts.map(({ row }) => row)]);
  }
  runSteps({ token, position, limit }: RowStates, count: number): BigInt64Array {
    this.chunks.push(count);
    return BigInt64Array.from({ length: this.steps * this.rows }, (_, i) => {
      const [k, row] = [Math.floor(i / this.rows), i % this.rows];
      return BigInt(k) < limit[row]! ? token[row]! + position[row]! + BigInt(k) : BigInt(NO_TOKEN);
    });
  }
}

it('attention is grouped, unless CUDA has no kernel for the type', () => {
  const kinds = (['cpu', 'cuda'] as const).map((device) =>
    (['float32', 'float16', 'bfloat16'] as const).map((type) =>
      attentionFor({ qkNorm: false } as DecoderConfig, device, type),
    ),
  );
  const all = ['grouped', 'grouped', 'grouped'];
  assert.deepEqual(kinds, [all, ['scattered', ...all.slice(1)]]);
  assert.equal(attentionFor({ qkNorm: true } as DecoderConfig, 'cuda', 'float16'), 'scattered');
});

describe('slots', () => {
  it('refill rows between chunks, read prompts of one padded length together, and run no needless step', async () => {
    const device = new CountingDevice();
    const lengths = [11, 66, 21, 65, 200, 9];
    const requests = lengths.map((length) => ({ prompt: new Array<number>(length).fill(0), key: [0, 0] as const }));
    const sampled: number[] = [];
    let checks = 0;
    const hooks = { check: () => checks++, onTokens: (count: number) => sampled.push(count) };
    const options = { temperature: 1, maxNewTokens: 6, stopTokens: [67] };
    const { answers, counts } = await new Slots(device, 202).generate(requests, options, hooks);
    assert.deepEqual(device.reads, [
      [64, [0, 2]],
      [128, [1]],
      [64, [1]], // after the stop token in row 1
      [256, [0]],
      [64, [1]],
    ]);
    assert.deepEqual(device.chunks, [4, 4, 4, 2]);
    assert.deepEqual(answers[1], { tokens: [65, 66, 67], finished: true });
    assert.deepEqual(answers[4], { tokens: [199, 200], finished: false }); // at the end of the context
    assert.deepEqual(counts, { prefilled: 366, redecoded: 0, reused: 0, sampled: 27 });
    assert.deepEqual(sampled, [11, 8, 6, 2]);
    assert.equal(checks, 5 + 4);
  });

  it('no requests give no answers', async () => {
    const { answers } = await new Slots(new CountingDevice(), 100).generate([], {
      temperature: 1,
      maxNewTokens: 1,
      stopTokens: [],
    });
    assert.deepEqual(answers, []);
  });
});

// A GGUF file as a model: the blocks of all types are packed as they are, so the model computes with the weights of the file.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RandomStream } from '../../../core/base/random.js';
import { ROOT } from '../../../infra/root.mjs';
import { openBase } from '../../../ml/engine/base.js';
import type { Engine } from '../../../ml/engine/engine.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { BLOCKS, type BlockType } from '../../../ml/gguf/blocks.js';
import { GgufFile } from '../../../ml/gguf/file.js';
import { ggufFolder } from '../../../ml/gguf/folder.js';
import { importGguf } from '../../../ml/gguf/import.js';
import { ggufName } from '../../../ml/gguf/names.js';
import { ggufHeader, type MetadataValue, padding } from '../../../ml/gguf/write.js';
import { parseModelConfig } from '../../../ml/hf/config.js';
import { MergedModel, mergedFolder } from '../../../ml/hf/mergedModel.js';
import { describeModel } from '../../../ml/hf/model.js';
import { elements, parameterLayout } from '../../../ml/nn/layout.js';
import { relativeError } from '../../../ml/selfTest/selfTest.js';
import { TrainSession } from '../../../ml/train/trainSession.js';
import { temporaryFolder } from '../../infra/support.js';
import { loadModel } from '../../support/loadModel.js';
import { randomAdapter, randomRows } from '../../support/smallModel.js';

const SMALL = join(ROOT, 'test', 'ml', 'gguf', 'small.gguf');
const SIZES = {
  ...{ model_type: 'qwen2', hidden_size: 256, intermediate_size: 512, num_hidden_layers: 2, num_attention_heads: 4 },
  ...{ num_key_value_heads: 2, vocab_size: 262, max_position_embeddings: 128, rms_norm_eps: 1e-5, rope_theta: 10000 },
};
/** The places of halves in a block. All other bytes may have any value. */
const HALVES: Partial<Record<BlockType, number[]>> = {
  ...{ Q4_0: [0], Q4_1: [0, 2], Q5_0: [0], Q5_1: [0, 2], Q8_0: [0], Q4_K: [0, 2], Q5_K: [0, 2], Q6_K: [208] },
};
/** The bits of the smallest half, so that weights of all types have about the same size. */
const SCALE: Partial<Record<BlockType, number>> = { Q8_0: 0x1000, Q4_K: 0x0800, Q5_K: 0x0800, Q6_K: 0x0200 };
const TYPES = Object.keys(HALVES) as BlockType[];
const LOSS = { clip: 0.2, temperature: 0.9 };

/** Writes a random Qwen2 model whose matrices have these types in turn, with the tokenizer of small.gguf. */
function writeModel(path: string, types: readonly BlockType[], tied: boolean): void {
  const random = new RandomStream('gguf');
  const small = new GgufFile(SMALL);
  const metadata = new Map<string, MetadataValue>();
  for (const [key, value] of small.metadata)
    if (key.startsWith('tokenizer.')) {
      const numbers = Array.isArray(value) && typeof value[0] === 'number';
      metadata.set(key, numbers ? Int32Array.from(value as number[]) : (value as MetadataValue));
    }
  small.close();
  const fields: Record<string, MetadataValue> = {
    embedding_length: SIZES.hidden_size,
    block_count: SIZES.num_hidden_layers,
    feed_forward_length: SIZES.intermediate_size,
    context_length: SIZES.max_position_embeddings,
    'attention.head_count': SIZES.num_attention_heads,
    'attention.head_count_kv': SIZES.num_key_value_heads,
    'attention.layer_norm_rms_epsilon': { f32: SIZES.rms_norm_eps },
    'rope.freq_base': { f32: SIZES.rope_theta },
  };
  metadata.set('general.architecture', 'qwen2');
  for (const [key, value] of Object.entries(fields)) metadata.set(`qwen2.${key}`, value);
  let matrix = 0;
  const tensors = parameterLayout(parseModelConfig({ ...SIZES, tie_word_embeddings: tied }, 'config')).map(
    ({ name, shape }) => {
      const type = shape.length === 1 ? ('F32' as const) : types[matrix++ % types.length]!;
      return { name: ggufName(name), shape, type };
    },
  );
  const parts: Uint8Array[] = [ggufHeader(metadata, tensors)];
  for (const { shape, type } of tensors) {
    const [weights, bytes] = BLOCKS[type];
    const floats = type === 'F32' && Float32Array.from({ length: elements(shape) }, () => 0.5 + random.uniform());
    const data = floats
      ? Buffer.from(floats.buffer)
      : Buffer.from(Array.from({ length: (elements(shape) / weights) * bytes }, () => random.int(0, 255)));
    for (let block = 0; block < data.length; block += bytes)
      for (const at of HALVES[type] ?? []) data.writeUInt16LE((SCALE[type] ?? 0x1c00) + random.int(0, 511), block + at);
    parts.push(data, padding(data.length));
  }
  writeFileSync(path, Buffer.concat(parts));
}

describe('a GGUF file as a model', () => {
  let place: string;
  let cache: string | undefined;
  beforeEach(() => {
    place = temporaryFolder();
    cache = process.env.GAUNTLET_CACHE;
    process.env.GAUNTLET_CACHE = join(place, 'cache');
  });
  afterEach(() => {
    if (cache === undefined) delete process.env.GAUNTLET_CACHE;
    else process.env.GAUNTLET_CACHE = cache;
  });

  /** The folder of a GGUF file with blocks of these types, and a folder with the same weights in f32. */
  async function pair(types = TYPES, tied = true): Promise<[folder: string, plain: string]> {
    writeModel(join(place, 'model.gguf'), types, tied);
    importGguf(join(place, 'model.gguf'), join(place, 'plain'), { dtype: 'F32' });
    return [await ggufFolder(join(place, 'model.gguf')), join(place, 'plain')];
  }

  for (const tied of [true, false])
    it(`has log-probs and gradients of its weights in f32, ${tied ? 'tied' : 'with its own output projection'}`, async () => {
      const [folder, plain] = await pair(TYPES, tied);
      const model = describeModel(folder);
      const { base } = await openBase(model, 'digest');
      assert.ok(base.kind === 'mapped');
      const { config, weights } = loadModel(plain);
      assert.deepEqual(model.config, config);
      const rows = randomRows([21, 30]);
      const adapter = randomAdapter(model);
      const [packed, exact] = [
        new TrainSession({ config, locations: base.locations }),
        new TrainSession({ config, weights }),
      ];
      const [scores, expected] = [await packed.score(rows, adapter, 1), await exact.score(rows, adapter, 1)];
      assert.ok(relativeError(scores.flat(), expected.flat()) < 1e-5);
      const gradients = (session: TrainSession) => session.ppo(rows, adapter, LOSS).then((sums) => sums.gradients);
      assert.ok(relativeError(await gradients(packed), await gradients(exact)) < 1e-4);
      await packed.close();
      await exact.close();
    });

  for (const type of TYPES)
    it(`samples with the codes of type ${type}, as its weights in f32 do but for activations of eight bits`, async () => {
      const [folder, plain] = await pair([type]);
      const open = (path: string): Promise<Engine> => openEngine(path, { workers: 1 });
      const [packed, exact] = [await open(folder), await open(plain)];
      try {
        const requests = [5, 9].map((seed) => ({ key: [seed, 0] as const, prompt: [1, 2, 3 + seed, 40, 7] }));
        const options = { maxNewTokens: 12, temperature: 1, stopTokens: [], logprobs: true };
        const answers = await packed.generate(requests, options);
        const sequences = answers.map(({ tokens }, i) => ({ tokens: [...requests[i]!.prompt, ...tokens] }));
        const scored = await exact.logprobs(sequences, { temperature: 1 });
        const sampled = answers.flatMap(({ logprobs }) => logprobs!);
        const expected = scored.flatMap((row) => row.slice(5));
        assert.ok(relativeError(sampled, expected) < 0.05, String(relativeError(sampled, expected)));
      } finally {
        await packed.close();
        await exact.close();
      }
    });

  it('is linked once, again after a change, and converted if its rows are turned', async () => {
    const [folder] = await pair(['Q8_0']);
    const path = join(place, 'model.gguf');
    assert.equal(await ggufFolder(path), folder);
    assert.deepEqual(readFileSync(join(folder, 'model.gguf')), readFileSync(path));
    writeModel(path, ['Q4_0'], true);
    assert.notEqual(await ggufFolder(path), folder);
    const turned = await ggufFolder(SMALL);
    assert.deepEqual(
      [existsSync(join(turned, 'model.gguf')), existsSync(join(turned, 'model.safetensors'))],
      [false, true],
    );
    const damaged = join(place, 'damaged.gguf');
    writeFileSync(damaged, readFileSync(path).subarray(0, 5000));
    await assert.rejects(ggufFolder(damaged), { code: 'BAD_MODEL', message: /^[^\n]*damaged\.gguf: [^\n]*$/ });
  });

  it('does not replace the safetensors of its folder', async () => {
    const [, plain] = await pair(['Q8_0']);
    const before = [...describeModel(plain).stored.values()].map(({ path }) => path);
    copyFileSync(join(place, 'model.gguf'), join(plain, 'model.gguf'));
    const { stored, blocks } = describeModel(plain);
    assert.deepEqual([[...stored.values()].map(({ path }) => path), blocks], [before, undefined]);
  });

  it('gives a merged model in f32, and keeps its blocks if a quantization is asked for', async () => {
    const [folder, plain] = await pair();
    const model = describeModel(folder);
    const adapter = randomAdapter(model);
    const bytes = (of: string): Buffer => {
      const [, content] = [...mergedFolder(new MergedModel(describeModel(of), adapter))].at(-1)!;
      return Buffer.concat([...(content as Iterable<Uint8Array>)].map((part) => Buffer.from(part)));
    };
    assert.deepEqual(bytes(folder), bytes(plain));
    const quantization = { bits: 4, groupSize: 32 } as const;
    const [own, asked] = await Promise.all([openBase(model, 'digest'), openBase(model, 'digest', quantization)]);
    assert.equal(own.digest, asked.digest);
  });
});

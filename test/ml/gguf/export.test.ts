// A model with a merged adapter is written as a GGUF file. Our importer reads the same model back, and the gguf package of
// llama.cpp finds the same bytes. GAUNTLET_PYTHON names a Python that has the package.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFolder } from '../../../cli/export/folder.js';
import { RandomStream } from '../../../core/base/random.js';
import { ROOT } from '../../../infra/root.mjs';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { dequantize } from '../../../ml/gguf/blocks.js';
import { type EncodedType, encode } from '../../../ml/gguf/encode.js';
import { EXPORT_TYPES, type ExportType, exportGguf } from '../../../ml/gguf/export.js';
import { GgufFile } from '../../../ml/gguf/file.js';
import { importGguf } from '../../../ml/gguf/import.js';
import { ggufHeader } from '../../../ml/gguf/write.js';
import { loadChatFormat } from '../../../ml/hf/chat.js';
import { parseModelConfig } from '../../../ml/hf/config.js';
import { MergedModel, mergedFolder } from '../../../ml/hf/mergedModel.js';
import { describeModel } from '../../../ml/hf/model.js';
import { writeSafetensors } from '../../../ml/hf/safetensors.js';
import { loadTokenizer } from '../../../ml/hf/tokenizer.js';
import { elements, layoutSize, loraLayout, parameterLayout } from '../../../ml/nn/layout.js';
import { mergeLora } from '../../../ml/nn/mergeLora.js';
import { temporaryFolder } from '../../infra/support.js';
import { NATIVE_PYTHON } from '../../sandbox/native.js';
import { loadModel } from '../../support/loadModel.js';

const SMALL = join(ROOT, 'test', 'ml', 'gguf', 'small.gguf');
const SIZES = {
  hidden_size: 64,
  intermediate_size: 96,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 270,
  max_position_embeddings: 128,
  rms_norm_eps: 1e-5,
  rope_theta: 500000,
  eos_token_id: [257, 256],
};
const LLAMA3 = {
  rope_type: 'llama3',
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
};
const MODELS: Record<string, object> = {
  'Llama, tied, with biases': { model_type: 'llama', tie_word_embeddings: true, attention_bias: true, mlp_bias: true },
  'Llama 3, untied': { model_type: 'llama', rope_scaling: LLAMA3, head_dim: 32 },
  Qwen2: { model_type: 'qwen2', tie_word_embeddings: true },
  'Qwen3, untied': { model_type: 'qwen3', head_dim: 32 },
};

describe('exporting a GGUF file', () => {
  let place: string;
  let folder: string;
  let file: string;
  beforeEach(() => {
    place = temporaryFolder();
    [folder, file] = [join(place, 'model'), join(place, 'model.gguf')];
  });

  /** Writes a random model with the tokenizer of small.gguf, and returns it with a random adapter. */
  function randomModel(fields: object, scale = 0.3) {
    const json = { ...SIZES, ...fields };
    const random = new RandomStream('export');
    const numbers = (count: number) => Float32Array.from({ length: count }, () => scale * (2 * random.uniform() - 1));
    const config = parseModelConfig(json, 'config');
    const weights = parameterLayout(config).map(
      ({ name, shape }) => [name, { shape, data: numbers(elements(shape)) }] as const,
    );
    importGguf(SMALL, join(place, 'tokenizer'), { dtype: 'F32' });
    mkdirSync(folder);
    for (const name of ['tokenizer.json', 'tokenizer_config.json'])
      copyFileSync(join(place, 'tokenizer', name), join(folder, name));
    rmSync(join(place, 'tokenizer'), { recursive: true });
    writeFileSync(join(folder, 'config.json'), JSON.stringify(json));
    writeFileSync(join(folder, 'model.safetensors'), writeSafetensors(new Map(weights)));
    const adapter = { rank: 3, alpha: 6, values: numbers(layoutSize(loraLayout(config, 3))) };
    return { config, adapter, merged: mergeLora(config, new Map(weights), adapter) };
  }

  const write = (adapter: { rank: number; alpha: number; values: Float32Array }, type: ExportType) =>
    exportGguf(new MergedModel(describeModel(folder), adapter), file, { type, name: 'run/checkpoint' });

  for (const [title, fields] of Object.entries(MODELS))
    it(`the import of the export is the merged model with the same tokenizer: ${title}`, () => {
      const { config, adapter, merged } = randomModel(fields);
      write(adapter, 'F32');
      const back = join(place, 'back');
      importGguf(file, back, { dtype: 'F32' });
      const found = loadModel(back);
      assert.deepEqual(found.config, config);
      assert.deepEqual(found.eosTokens, [257, 256]);
      assert.deepEqual(found.weights, merged);
      const [ours, theirs] = [loadTokenizer(folder), loadTokenizer(back)];
      for (const text of ['hell<|im_end|> 12<think>', 'naïve 日本 🙂', 'def f(x):\n\treturn  x'])
        assert.deepEqual(theirs.encode(text), ours.encode(text));
      const messages = [{ role: 'user' as const, content: 'hell' }];
      assert.deepEqual(
        loadChatFormat(back, theirs).openingTokens(messages),
        loadChatFormat(folder, ours).openingTokens(messages),
      );
    });

  for (const type of ['F16', 'Q8_0'] as const)
    it(`${type} rounds matrices, and keeps vectors`, () => {
      const { adapter, merged } = randomModel(MODELS.Qwen2!);
      write(adapter, type);
      importGguf(file, join(place, 'back'), { dtype: 'F32' });
      for (const [name, { shape, data }] of loadModel(join(place, 'back')).weights) {
        const exact = merged.get(name)!.data;
        const largest = exact.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
        const worst = data.reduce((most, x, i) => Math.max(most, Math.abs(x - exact[i]!)), 0);
        // half a step of the code, plus the rounding of the scale to f16
        const bound = type === 'F16' ? largest * 2 ** -11 : largest * (0.5 / 127 + 2 ** -11);
        assert.ok(shape.length === 1 ? worst === 0 : worst > 0 && worst <= bound, `${name} ${worst}`);
      }
    });

  it('rounds every number to the nearest f16', () => {
    const halves = dequantize('F16', new Uint8Array(Uint16Array.from({ length: 0x7c00 }, (_, h) => h).buffer), 0x7c00);
    assert.deepEqual(dequantize('F16', encode('F16', halves, 'a tensor'), 0x7c00), halves);
    const between = Float32Array.from(halves.subarray(1), (x, i) => (x + halves[i]!) / 2); // the quotient is exact in f32
    const rounded = new Uint16Array(encode('F16', between, 'a tensor').buffer);
    assert.equal(
      rounded.findIndex((h, i) => h !== i + (i & 1)),
      -1,
      'ties to even',
    );
  });

  it('lets transformers compute the log-probs of base and adapter, from the file and from a folder', async function () {
    if (spawnSync(NATIVE_PYTHON, ['-c', 'import torch, transformers, gguf, accelerate']).status !== 0) {
      const packages = 'torch, transformers, gguf and accelerate';
      console.log(`      skipped: ${NATIVE_PYTHON} lacks one of ${packages}; GAUNTLET_PYTHON names another`);
      return this.skip();
    }
    const { adapter } = randomModel(MODELS.Qwen2!);
    write(adapter, 'F32');
    const merged = join(place, 'merged');
    await writeFolder(merged, mergedFolder(new MergedModel(describeModel(folder), adapter)));
    const rows = [{ tokens: Array.from({ length: 40 }, (_, i) => (7 * i) % 250) }];
    const engine = await openEngine(folder, { workers: 1 });
    const [base] = await engine.logprobs(rows, { temperature: 1 });
    const [ours] = await engine.logprobs(rows, { adapter, temperature: 1 });
    await engine.close();
    const distance = (other: ArrayLike<number>): number =>
      Math.max(...[...ours!].slice(1).map((value, i) => Math.abs(value - other[i]!)));
    assert.ok(distance(base!.slice(1)) > 0.01, 'the adapter changes the model');
    for (const path of [merged, file]) {
      const script = ['test/support/loadMerged.py', path, JSON.stringify(rows.map(({ tokens }) => tokens))];
      const [theirs] = JSON.parse(execFileSync(NATIVE_PYTHON, script, { encoding: 'utf8' })) as [number[]];
      assert.equal(theirs.length, 39);
      assert.ok(distance(theirs) < 1e-4, `${path}: ${distance(theirs)}`);
    }
  });

  it('has the bytes and fields that the gguf package writes', function () {
    if (spawnSync(NATIVE_PYTHON, ['-c', 'import gguf']).status !== 0) {
      console.log(`      skipped: ${NATIVE_PYTHON} has no gguf (pip install gguf); GAUNTLET_PYTHON names another`);
      return this.skip();
    }
    const { adapter } = randomModel(MODELS['Llama, tied, with biases']!);
    for (const type of EXPORT_TYPES) {
      file = join(place, `${type}.gguf`);
      write(adapter, type);
    }
    const output = execFileSync(NATIVE_PYTHON, [join(ROOT, 'test/ml/gguf/check_export.py'), place]);
    const { fields, same, different } = JSON.parse(output.toString()) as {
      fields: Record<string, unknown>;
      same: number;
      different: string[];
    };
    assert.deepEqual([same, different], [2 * 34, []]); // 34 tensors in F16, and as many in Q8_0
    assert.deepEqual(fields, {
      'general.architecture': 'llama',
      'general.name': 'run/checkpoint',
      'general.file_type': 0,
      'llama.block_count': 2,
      'llama.attention.head_count_kv': 2,
      'llama.rope.dimension_count': 16,
      'llama.rope.freq_base': 500000,
      'tokenizer.ggml.model': 'gpt2',
      'tokenizer.ggml.pre': 'smollm',
      'tokenizer.ggml.eos_token_id': 257,
      'tokenizer.ggml.eot_token_id': 256,
      tokens: 270,
      unused: 8,
    });
  });

  describe('refuses what it cannot write with one line, and leaves no file', () => {
    const tokenizer = (change: (json: Record<string, never>) => object) => () => {
      const path = join(folder, 'tokenizer.json');
      writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')))));
    };
    const CASES: [title: string, fields: object, change: () => void, message: RegExp][] = [
      [
        'a word-level tokenizer',
        {},
        tokenizer((json) => ({ ...json, model: { type: 'WordLevel', vocab: {} } })),
        /tokenizer\.json: a tokenizer of type WordLevel is not supported, only byte-level BPE; use --format safetensors: solve and serve open such a folder with --model$/,
      ],
      [
        'an unknown rule for words',
        {},
        tokenizer((json) => ({ ...json, pre_tokenizer: { type: 'Whitespace' } })),
        /llama.cpp has no name for its pre_tokenizer, only for those of gpt-2, smollm/,
      ],
      ['a vocabulary beyond vocab_size', { vocab_size: 261 }, () => undefined, /has id 261, .* vocab_size 261/],
      ['Qwen3 with biases', { model_type: 'qwen3', attention_bias: true }, () => undefined, /no Qwen3 with biases/],
    ];
    for (const [title, fields, change, message] of CASES)
      it(title, () => {
        const { adapter } = randomModel({ model_type: 'llama', tie_word_embeddings: true, ...fields });
        change();
        assert.throws(() => write(adapter, 'F16'), { code: 'BAD_MODEL', message });
        assert.deepEqual(readdirSync(place), ['model']);
      });

    for (const type of ['F16', 'Q8_0'] as EncodedType[])
      it(`refuses a weight beyond ${type}`, () => {
        const { adapter } = randomModel({ model_type: 'llama', tie_word_embeddings: true }, 1e6);
        const message = /^model.embed_tokens.weight: a weight of -?\d.* does not fit \S+; choose --type F32$/;
        assert.throws(() => write(adapter, type as ExportType), { code: 'BAD_INPUT', message });
        assert.deepEqual(readdirSync(place), ['model']);
      });
  });

  it('has room for the tokens of a large vocabulary', () => {
    const tokens = Array.from({ length: 300_000 }, (_, token) => `token ${token}`);
    writeFileSync(file, ggufHeader(new Map([['tokens', tokens]]), []));
    const read = new GgufFile(file);
    read.close();
    assert.deepEqual(read.metadata.get('tokens'), tokens);
  });
});

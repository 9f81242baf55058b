// GGUF files: every block type equals what the gguf package of llama.cpp reads (recorded by record_gguf.py), a small file
// becomes a usable model folder, and damaged files end in one line.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../../core/base/errors.js';
import { RandomStream } from '../../../core/base/random.js';
import { ROOT } from '../../../infra/root.mjs';
import { type BlockType, dequantize } from '../../../ml/gguf/blocks.js';
import { GgufFile } from '../../../ml/gguf/file.js';
import { importGguf } from '../../../ml/gguf/import.js';
import { loadChatFormat } from '../../../ml/hf/chat.js';
import { loadTokenizer } from '../../../ml/hf/tokenizer.js';
import { temporaryFolder } from '../../infra/support.js';
import { loadModel } from '../../support/loadModel.js';

const HERE = join(ROOT, 'test', 'ml', 'gguf');
const SMALL = join(HERE, 'small.gguf');
type Entry = [key: string, value: number | string | boolean, message: string];
const { refused, neutral }: Record<string, Entry[]> = JSON.parse(readFileSync(join(HERE, 'entries.json'), 'utf8'));

/** A GGUF file with one more entry, and a text that keeps its tensors aligned. */
function withEntry(file: Buffer, [key, value]: Entry): Buffer {
  const word = (n: number | bigint): Buffer => Buffer.from(BigUint64Array.of(BigInt(n)).buffer);
  const text = (content: string): Buffer => Buffer.concat([word(content.length), Buffer.from(content)]);
  const number = (n: number): Buffer => word(n).subarray(0, 4);
  const code = { number: 4, boolean: 7, string: 8 }[typeof value as 'number'];
  const content = typeof value === 'string' ? text(value) : number(+value).subarray(0, code === 4 ? 4 : 1);
  const entry = Buffer.concat([text(key), number(code), content, text('fill'), number(8)]);
  const fill = text(' '.repeat(32 - ((entry.length + 8) % 32)));
  return Buffer.concat([file.subarray(0, 16), word(file.readBigUInt64LE(16) + 2n), entry, fill, file.subarray(24)]);
}

describe('blocks of GGUF tensors', () => {
  const recorded = JSON.parse(readFileSync(join(HERE, 'blocks.json'), 'utf8')) as Record<
    BlockType,
    { bytes: string; values: string }
  >;
  for (const [type, { bytes, values }] of Object.entries(recorded))
    it(`every weight of type ${type} has the bits that the gguf package reads`, () => {
      const expected = new Uint32Array(new Uint8Array(Buffer.from(values, 'base64')).buffer);
      const found = dequantize(type as BlockType, Buffer.from(bytes, 'base64'), expected.length);
      const isZero = (bits: number): boolean => bits << 1 === 0; // 0 and −0 are equal weights
      const same = new Uint32Array(found.buffer).map((bits, i) =>
        bits === expected[i] || (isZero(bits) && isZero(expected[i]!)) ? 1 : 0,
      );
      assert.equal(same.indexOf(0), -1);
    });
});

describe('importing a GGUF file', () => {
  let place: string;
  let folder: string;
  beforeEach(() => {
    place = temporaryFolder();
    folder = join(place, 'model');
  });

  it('writes config and weights, with the rows of q and k in the order of transformers', () => {
    const { tensors, types } = importGguf(SMALL, folder, { dtype: 'F32' });
    assert.deepEqual([tensors, types], [11, ['F32']]);
    const { config, weights, eosTokens } = loadModel(folder);
    assert.deepEqual(
      [config.architecture, config.hidden, config.layers, config.heads, config.kvHeads, config.headDim, config.ffn],
      ['LlamaForCausalLM', 32, 1, 4, 2, 8, 64],
    );
    assert.deepEqual(
      [config.vocab, config.contextLength, config.normEps, config.ropeTheta, config.tied, eosTokens],
      [262, 128, 1e-5, 1e5, true, [257]],
    );
    const firsts = (name: string): number[] => {
      const { shape, data } = weights.get(`model.layers.0.${name}.weight`)!;
      return Array.from({ length: shape[0]! }, (_, row) => data[row * shape[1]!]!);
    };
    const inOrder = (n: number) => Array.from({ length: n }, (_, i) => i);
    assert.deepEqual(firsts('self_attn.q_proj').slice(0, 16), [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15]);
    assert.deepEqual(firsts('self_attn.k_proj').slice(8), [8, 10, 12, 14, 9, 11, 13, 15]);
    assert.deepEqual(firsts('self_attn.v_proj'), inOrder(16));
    assert.deepEqual(firsts('mlp.down_proj'), inOrder(32));
    const q = weights.get('model.layers.0.self_attn.q_proj.weight')!.data;
    assert.equal(q[4 * 32 + 5], Math.fround(1.05), 'row 1, column 5');
  });

  it('writes bf16 weights, rounded to the nearest', () => {
    importGguf(SMALL, folder, { dtype: 'BF16' });
    const { data } = loadModel(folder).weights.get('model.embed_tokens.weight')!;
    assert.deepEqual([data[1], data[7]], [0.010009765625, 0.06982421875]); // 0.01 and 0.07, rounded
    const worst = data.reduce((most, x, i) => {
      const exact = Math.floor(i / 32) + (i % 32) / 100;
      return exact === 0 ? most : Math.max(most, Math.abs(x - exact) / exact);
    }, 0);
    assert.ok(worst <= 2 ** -8, `${worst}`);
  });

  it('writes tokenizer and chat template', () => {
    importGguf(SMALL, folder, { dtype: 'F32' });
    const tokenizer = loadTokenizer(folder);
    const ids = tokenizer.encode('hell<|im_end|> 12<think>');
    assert.deepEqual(ids, [260, 257, ...tokenizer.encode(' '), 16, 17, 261]);
    assert.equal(tokenizer.decode(ids), 'hell<|im_end|> 12<think>');
    for (const text of ['naïve 日本 🙂', 'def f(x):\n\treturn  x\r\n'])
      assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
    const opening = loadChatFormat(folder, tokenizer).openingTokens([{ role: 'user', content: 'hell' }]);
    assert.deepEqual(
      opening.filter((id) => id >= 256),
      [256, 260, 257, 256],
    );
  });

  it('takes the tokenizer of another folder', () => {
    const tokenizer = join(ROOT, 'test', 'ml', 'parity', 'generate');
    importGguf(SMALL, folder, { dtype: 'F32', tokenizer });
    assert.equal(
      readFileSync(join(folder, 'tokenizer.json'), 'utf8'),
      readFileSync(join(tokenizer, 'tokenizer.json'), 'utf8'),
    );
    assert.throws(
      () => importGguf(SMALL, join(place, 'b'), { dtype: 'F32', tokenizer: place }),
      /--tokenizer .*no tokenizer.json/,
    );
  });

  it('accepts keys that state a default', () => {
    const path = join(place, 'more.gguf');
    writeFileSync(path, neutral!.reduce<Buffer>(withEntry, readFileSync(SMALL)));
    for (const [from, to] of [
      [SMALL, folder],
      [path, `${folder}2`],
    ])
      importGguf(from!, to!, { dtype: 'F32' });
    for (const name of readdirSync(folder))
      assert.deepEqual(readFileSync(join(`${folder}2`, name)), readFileSync(join(folder, name)), name);
  });

  it('never replaces existing files', () => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'mine'), '');
    for (const out of [folder, join(folder, 'mine')])
      assert.throws(() => importGguf(SMALL, out, { dtype: 'F32' }), {
        code: 'BAD_INPUT',
        message: /not an empty folder/,
      });
    assert.deepEqual(readdirSync(folder), ['mine']);
  });

  it('fills an empty folder, even if its name ends with a slash', () => {
    for (const name of ['new', 'empty']) {
      if (name === 'empty') mkdirSync(join(place, name));
      importGguf(SMALL, `${join(place, name)}/`, { dtype: 'F32' });
      assert.ok(existsSync(join(place, name, 'config.json')));
    }
    assert.deepEqual(readdirSync(place).sort(), ['empty', 'new']);
  });

  describe('refuses what it cannot read with one line, and leaves no folder', () => {
    const bytes = readFileSync(SMALL);
    /** The file in which every `from` is replaced by a text of the same length. */
    const with_ = (from: string, to: string): Buffer => {
      assert.equal(from.length, to.length);
      return Buffer.from(bytes.toString('latin1').replaceAll(from, to), 'latin1');
    };
    const number = (at: number, value: bigint): Buffer => {
      const copy = Buffer.from(bytes);
      copy.writeBigUInt64LE(value, at);
      return copy;
    };
    const bigEndian = Buffer.from(bytes).fill(Buffer.from([0, 0, 0, 3]), 4, 8);
    const CASES: [name: string, content: Buffer, message: RegExp][] = [
      ['another order of bytes', bigEndian, /it is big-endian: convert it with gguf-convert-endian/],
      ...refused!.map((entry): [string, Buffer, RegExp] => [entry[0], withEntry(bytes, entry), RegExp(entry[2])]),
      ['another format', Buffer.from('{"a": 1}'.repeat(10)), /not a GGUF file/],
      ['an empty file', Buffer.alloc(0), /not a GGUF file/],
      ['an incomplete header', bytes.subarray(0, 3000), /ends within its header: is the download complete/],
      ['an incomplete tensor', bytes.subarray(0, bytes.length - 100), /tensor \S+ ends beyond the file/],
      ['too many tensors', number(8, 2n ** 40n), /1099511627776 tensors, at most 65536/],
      ['too many entries', number(16, 2n ** 63n), /the number 9\d+ at byte 16/],
      ['another architecture', with_('llama', 'mamba'), /general.architecture is mamba, only qwen2, qwen3, llama/],
      ['another tokenizer', with_('gpt2', 'bert'), /tokenizer.ggml.model is bert.*; use --tokenizer with a folder/],
      ['an unknown rule', with_('smollm', 'jaisss'), /tokenizer.ggml.pre is jaisss, only gpt-2, smollm/],
      ['no rule', with_('tokenizer.ggml.pre', 'tokenizer.ggml.PRE'), /no tokenizer.ggml.pre, .*; use --tokenizer/],
      ['a missing number', with_('llama.feed_forward', 'other.feed_forward'), /no number llama.feed_forward_length/],
      ['a missing tensor', with_('ffn_down', 'ffn_DOWN'), /no tensor blk.0.ffn_down.weight, \[32,64\] is needed/],
      ['a tensor of another shape', with_('ffn_up', 'ffn_uq'), /no tensor blk.0.ffn_up.weight/],
    ];
    for (const [name, content, message] of CASES)
      it(name, () => {
        const path = join(place, 'bad.gguf');
        writeFileSync(path, content);
        assert.throws(
          () => importGguf(path, folder, { dtype: 'F32' }),
          (error: Error) =>
            error instanceof GauntletError &&
            error.code === 'BAD_MODEL' &&
            message.test(error.message) &&
            !error.message.includes('\n'),
          String(message),
        );
        assert.deepEqual(readdirSync(place), ['bad.gguf']);
      });

    it('refuses a file with random damage, or reads it', () => {
      const random = new RandomStream('gguf');
      const path = join(place, 'bad.gguf');
      const size = 9_000; // covers the header
      for (let i = 0; i < 300; i++) {
        const copy = Buffer.from(bytes);
        for (let n = 0; n < 3; n++) copy[random.int(0, size - 1)] = random.int(0, 255);
        writeFileSync(path, copy);
        try {
          importGguf(path, folder, { dtype: 'F32' });
        } catch (error) {
          assert.ok(error instanceof GauntletError, String((error as Error).stack));
        }
        rmSync(folder, { recursive: true, force: true });
      }
      assert.deepEqual(readdirSync(place), ['bad.gguf']);
    });
  });

  it('reads rows of a tensor', () => {
    const file = new GgufFile(SMALL);
    try {
      assert.deepEqual([...file.rows('blk.0.ffn_up.weight', 2, 3)].slice(0, 2), [2, Math.fround(2.01)]);
      assert.deepEqual(file.tensors.get('blk.0.ffn_down.weight')!.shape, [32, 64]);
    } finally {
      file.close();
    }
    assert.ok(existsSync(SMALL));
  });
});

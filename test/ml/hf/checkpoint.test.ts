// Finds and checks parameters from file headers alone, and names each mismatch in one line.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../../core/base/errors.js';
import { describeCheckpoint, weightFiles } from '../../../ml/hf/checkpoint.js';
import { parameterLayout } from '../../../ml/nn/layout.js';
import { temporaryFolder } from '../../infra/support.js';
import { RECORDED_CONFIG } from '../recorded.js';

const INDEX = 'model.safetensors.index.json';
const UP = 'model.layers.1.mlp.up_proj.weight';
const EMBEDDING = 'model.embed_tokens.weight';
const BYTES: Record<string, number> = { F32: 4, F16: 2, BF16: 2, I8: 1 };

interface Stored {
  dtype: string;
  shape: number[];
  fill: number; // every byte
}

/** A safetensors file from arbitrary tensors. */
function write(path: string, tensors: ReadonlyMap<string, Stored>): void {
  const header: Record<string, unknown> = {};
  const data: Buffer[] = [];
  let at = 0;
  for (const [name, { dtype, shape, fill }] of tensors) {
    const size = shape.reduce((a, b) => a * b, 1) * BYTES[dtype]!;
    header[name] = { dtype, shape, data_offsets: [at, at + size] };
    data.push(Buffer.alloc(size, fill));
    at += size;
  }
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  writeFileSync(path, Buffer.concat([length, json, ...data]));
}

describe('checkpoints', () => {
  const config = RECORDED_CONFIG;
  let folder: string;
  let tensors: Map<string, Stored>;
  beforeEach(() => {
    folder = temporaryFolder();
    tensors = new Map(
      parameterLayout(config).map(({ name, shape }, i) => [name, { dtype: 'F32', shape, fill: i + 1 }]),
    );
  });

  const single = () => write(join(folder, 'model.safetensors'), tensors);
  /** Writes ten tensors to a.safetensors, the others to b.safetensors, and an index that `change` may edit. */
  const shards = (change: (map: Record<string, string>) => void = () => {}) => {
    const entries = [...tensors];
    write(join(folder, 'a.safetensors'), new Map(entries.slice(0, 10)));
    write(join(folder, 'b.safetensors'), new Map(entries.slice(10)));
    const map = Object.fromEntries(entries.map(([name], i) => [name, i < 10 ? 'a.safetensors' : 'b.safetensors']));
    change(map);
    writeFileSync(join(folder, INDEX), JSON.stringify({ weight_map: map }));
  };
  const refused = (pattern: RegExp, c = config) =>
    assert.throws(
      () => describeCheckpoint(folder, c),
      (e: unknown) =>
        e instanceof GauntletError &&
        e.code === 'BAD_MODEL' &&
        e.message.startsWith(folder) &&
        !e.message.includes('\n') &&
        (pattern.test(e.message) || assert.fail(e.message)),
    );

  it('locates every parameter, in one file or in shards, in three dtypes', () => {
    ['F16', 'BF16', 'F32'].forEach((dtype, i) => {
      tensors.get(parameterLayout(config)[i]!.name)!.dtype = dtype;
    });
    for (const lay of [shards, single]) {
      lay();
      const found = describeCheckpoint(folder, config);
      assert.deepEqual(
        [...found.keys()],
        parameterLayout(config).map((e) => e.name),
      );
      for (const [name, { path, dtype, offset, length, shape }] of found) {
        const expected = tensors.get(name)!;
        assert.deepEqual([dtype, shape], [expected.dtype, expected.shape]);
        assert.equal(length, shape.reduce((a, b) => a * b, 1) * BYTES[dtype]!);
        const bytes = readFileSync(path).subarray(offset, offset + length);
        assert.ok(bytes.length === length && bytes.every((byte) => byte === expected.fill), name);
      }
    }
    assert.deepEqual(weightFiles(folder), ['model.safetensors']); // takes precedence over an index
    rmSync(join(folder, 'model.safetensors'));
    assert.deepEqual(weightFiles(folder), ['a.safetensors', 'b.safetensors']);
  });

  it('names a tensor that is missing, unknown, or of another shape or dtype, and its file', () => {
    const bad = (change: () => void, pattern: RegExp) => {
      const kept = new Map(tensors);
      change();
      single();
      refused(pattern);
      tensors = kept;
    };
    bad(() => tensors.delete(UP), /model\.safetensors: no tensor model\.layers\.1\.mlp\.up_proj\.weight$/);
    const odd = { dtype: 'F32', shape: [2], fill: 0 };
    bad(() => tensors.set('score.weight', odd), /model\.safetensors: tensor score\.weight belongs to no parameter/);
    bad(
      () => tensors.set(UP, { ...odd, shape: [32, 48] }),
      /up_proj\.weight has shape \[32,48\], config\.json needs \[48,32\]/,
    );
    bad(
      () => tensors.set(UP, { ...odd, dtype: 'I8', shape: [48, 32] }),
      /up_proj\.weight has dtype I8; F32, F16 or BF16/,
    );
  });

  it('accepts rotary buffers and a copy of the tied embedding, but no other output projection', () => {
    tensors.set('model.layers.0.self_attn.rotary_emb.inv_freq', { dtype: 'F32', shape: [4], fill: 0 });
    tensors.set('lm_head.weight', { ...tensors.get(EMBEDDING)! });
    single();
    assert.equal(describeCheckpoint(folder, config).has('lm_head.weight'), false);
    tensors.get('lm_head.weight')!.fill++;
    single();
    refused(
      /model\.safetensors: tensor lm_head\.weight differs from model\.embed_tokens\.weight, but .*tie_word_embeddings/,
    );
    assert.equal(describeCheckpoint(folder, { ...config, tied: false }).size, parameterLayout(config).length + 1);
    tensors.set('lm_head.weight', { dtype: 'BF16', shape: [1], fill: 1 });
    single();
    refused(/lm_head/);
  });

  it('refuses shards that contradict their index', () => {
    shards((map) => {
      delete map[UP];
    });
    refused(/b\.safetensors: model\.safetensors\.index\.json does not list tensor .*up_proj\.weight/);
    shards((map) => {
      map[UP] = 'a.safetensors';
    });
    refused(/b\.safetensors: .*does not list tensor .*up_proj/);
    shards((map) => {
      map.extra = 'a.safetensors';
    });
    refused(/a\.safetensors: no tensor extra, which model\.safetensors\.index\.json lists/);
    shards((map) => {
      map.extra = 'c.safetensors';
    });
    refused(/index\.json: shard c\.safetensors is not in the folder/);
    for (const name of ['../a.safetensors', 'a.bin', '']) {
      shards((map) => {
        map[UP] = name;
      });
      refused(/index\.json: .* is not a safetensors file of this folder/);
    }
    tensors.delete(UP);
    shards();
    refused(/index\.json: no tensor .*up_proj/);
    for (const text of ['{}', '{"weight_map":[]}']) {
      writeFileSync(join(folder, INDEX), text);
      refused(/index\.json: field weight_map is missing/);
    }
  });

  it('names missing weights, a folder instead of a file, a truncated file and a broken header', () => {
    refused(/neither model\.safetensors nor model\.safetensors\.index\.json/);
    single();
    const path = join(folder, 'model.safetensors');
    truncateSync(path, readFileSync(path).length - 1);
    refused(/model\.safetensors: truncated: tensor model\.norm\.weight ends/);
    truncateSync(path, 100);
    refused(/model\.safetensors: truncated or not a safetensors file/);
    writeFileSync(path, Buffer.concat([Buffer.of(2, 0, 0, 0, 0, 0, 0, 0), Buffer.from('{]')]));
    refused(/model\.safetensors: the safetensors header is not JSON/);
    rmSync(path);
    mkdirSync(path);
    refused(/model\.safetensors: not a file/);
  });
});

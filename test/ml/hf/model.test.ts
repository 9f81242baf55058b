import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../infra/root.mjs';
import { readGeneration } from '../../../ml/hf/config.js';
import { parseSafetensors, writeSafetensors } from '../../../ml/hf/safetensors.js';
import { parameterLayout } from '../../../ml/nn/layout.js';
import { temporaryFolder } from '../../infra/support.js';
import { loadModel } from '../../support/loadModel.js';

const fixture = join(ROOT, 'test', 'ml', 'parity', 'generate');

describe('model folders', () => {
  it('reads a folder that transformers wrote', () => {
    const model = loadModel(fixture);
    assert.equal(model.config.heads, 6);
    assert.equal(model.config.headDim, 8);
    assert.equal(model.config.ropeTheta, 10000);
    assert.equal(model.config.tied, true);
    assert.deepEqual(model.eosTokens, [2]);
    assert.deepEqual(
      [...model.weights.keys()],
      parameterLayout(model.config).map((e) => e.name),
    );
    assert.deepEqual(model.weights.get('model.layers.2.self_attn.k_proj.weight')!.shape, [16, 48]);
  });

  it('reads the end tokens and the recommended sampling', () => {
    const folder = temporaryFolder();
    const read = (generation: object) => {
      writeFileSync(join(folder, 'generation_config.json'), JSON.stringify(generation));
      return readGeneration(folder, { eos_token_id: 7 });
    };
    assert.deepEqual(readGeneration(folder, { eos_token_id: 7 }), { eosTokens: [7], generation: {} });
    const qwen = { eos_token_id: [5, 3], temperature: 0.6, top_p: 0.95, top_k: 20, repetition_penalty: 1.1 };
    const generation = { temperature: 0.6, topP: 0.95, topK: 20, repetitionPenalty: 1.1 };
    assert.deepEqual(read(qwen), { eosTokens: [5, 3], generation });
    const off = { temperature: 0, top_p: 1, top_k: 0, repetition_penalty: 1 };
    assert.deepEqual(read(off), { eosTokens: [7], generation: {} });
    assert.deepEqual(read({ temperature: 'hot', top_k: null }).generation, {});
  });

  it('names a missing file or tensor, and reads shards through their index', () => {
    const folder = temporaryFolder();
    assert.throws(() => loadModel(join(folder, 'none')), /no such folder/);
    assert.throws(() => loadModel(folder), /config.json: not found/);
    cpSync(join(fixture, 'config.json'), join(folder, 'config.json'));
    assert.throws(() => loadModel(folder), /neither model.safetensors nor model.safetensors.index.json/);
    const all = parseSafetensors(readFileSync(join(fixture, 'model.safetensors')), 'fixture');
    const names = [...all.keys()];
    const part = (from: number, to: number) =>
      writeSafetensors(new Map(names.slice(from, to).map((n) => [n, all.get(n)!])));
    writeFileSync(join(folder, 'a.safetensors'), part(0, 10));
    writeFileSync(join(folder, 'b.safetensors'), part(10, names.length));
    const index = (map: Record<string, string>) =>
      writeFileSync(join(folder, 'model.safetensors.index.json'), JSON.stringify({ weight_map: map }));
    index(Object.fromEntries(names.map((n, i) => [n, i < 10 ? 'a.safetensors' : 'b.safetensors'])));
    const name = 'model.layers.1.mlp.up_proj.weight';
    assert.deepEqual(loadModel(folder).weights.get(name), loadModel(fixture).weights.get(name));
    index({ x: 'a.safetensors' });
    assert.throws(
      () => loadModel(folder),
      /a.safetensors: model.safetensors.index.json does not list tensor .* in this file/,
    );
    index({ x: '../evil.safetensors' });
    assert.throws(() => loadModel(folder), /not a safetensors file of this folder/);
    writeFileSync(join(folder, 'model.safetensors.index.json'), '{}');
    assert.throws(() => loadModel(folder), /weight_map/);
    writeFileSync(join(folder, 'config.json'), '[1]');
    assert.throws(() => loadModel(folder), /not a JSON object/);
  });
});

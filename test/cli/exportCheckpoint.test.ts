// `gauntlet checkpoints export`: merged weights as a model folder and as a GGUF file, and what it refuses.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { resolveConfig } from '../../core/config/presets.js';
import { ROOT } from '../../infra/root.mjs';
import { importGguf } from '../../ml/gguf/import.js';
import { digestModel } from '../../ml/hf/digest.js';
import { writePeft } from '../../ml/hf/peft.js';
import { layoutSize, loraLayout } from '../../ml/nn/layout.js';
import { mergeLora } from '../../ml/nn/mergeLora.js';
import { CHECKPOINT_FILES, commitCheckpoint } from '../../store/checkpoints.js';
import { openStore } from '../../store/openStore.js';
import { createRun } from '../../store/runs.js';
import { sampleFacts } from '../store/support.js';
import { loadModel } from '../support/loadModel.js';
import { inProcess, removeFolders, temporaryFolder } from './support.js';

describe('exporting a checkpoint', () => {
  let store: string;
  let base: string;
  let place: string;
  let adapter: { rank: number; alpha: number; values: Float32Array };
  const exported = (run: string, ...argv: string[]) =>
    inProcess('checkpoints', 'export', run, '--store', store, '--out', join(place, 'out'), ...argv);

  before(async () => {
    [store, place] = [await temporaryFolder(), await temporaryFolder()];
    base = join(await temporaryFolder(), 'base');
    importGguf(join(ROOT, 'test', 'ml', 'gguf', 'small.gguf'), base, { dtype: 'F32' });
    const { config } = loadModel(base);
    const values = Float32Array.from({ length: layoutSize(loraLayout(config, 2)) }, (_, i) => Math.sin(i) / 8);
    adapter = { rank: 2, alpha: 4, values };
    const files = writePeft(config, adapter, 'base');
    const digest = await digestModel(base);
    const opened = await openStore(store);
    for (const [run, change] of [
      ['plain', { model: base }],
      ['quantized', { model: base, engine: { quantization: 'int4' } }],
      ['tiny', { model: 'tiny' }],
    ] as const) {
      const settings = resolveConfig({ preset: 'tiny', ...change });
      await createRun(opened, run, { config: settings, modelDigest: digest, dataDigest: digest, codeVersion: '1' });
      const written = new Map([
        [CHECKPOINT_FILES.generatorConfig, files.get('adapter_config.json')!],
        [CHECKPOINT_FILES.generatorAdapter, files.get('adapter_model.safetensors')!],
      ]);
      await commitCheckpoint(opened, run, sampleFacts(), written);
    }
  });
  beforeEach(async () => {
    place = await temporaryFolder();
  });
  after(removeFolders);

  it('writes a model folder with the merged weights', async () => {
    const { code, out } = await exported('plain', '--format', 'safetensors', '--json');
    assert.equal(code, 0);
    assert.equal(JSON.parse(out).out, join(place, 'out'));
    const [model, found] = [loadModel(base), loadModel(join(place, 'out'))];
    assert.deepEqual(found.weights, mergeLora(model.config, model.weights, adapter));
    assert.deepEqual([found.config, found.eosTokens], [model.config, model.eosTokens]);
    assert.deepEqual(readdirSync(join(place, 'out')).sort(), readdirSync(base).sort());
  });

  it('writes weights of other types', async () => {
    assert.equal((await exported('plain', '--format', 'safetensors', '--type', 'BF16')).code, 0);
    const { stored } = loadModel(join(place, 'out'));
    assert.deepEqual([...new Set([...stored.values()].map(({ dtype }) => dtype))], ['BF16']);
  });

  it('writes a GGUF file', async () => {
    assert.equal((await exported('plain', '--format', 'gguf', '--type', 'F32')).code, 0);
    importGguf(join(place, 'out'), join(place, 'back'), { dtype: 'F32' });
    const model = loadModel(base);
    assert.deepEqual(loadModel(join(place, 'back')).weights, mergeLora(model.config, model.weights, adapter));
  });

  it('replaces no existing file', async () => {
    assert.equal((await exported('plain', '--format', 'gguf')).code, 0);
    for (const format of ['gguf', 'safetensors'])
      assert.match((await exported('plain', '--format', format)).err, /it exists; name a new \S+ \[BAD_INPUT\]/);
  });

  it('refuses a quantized base, the wrong base, and a type that belongs to the other format', async () => {
    for (const [run, argv, message] of [
      ['quantized', ['--format', 'gguf'], /trained on an int4 base, which cannot be merged; .*\[BAD_INPUT\]/],
      ['tiny', ['--format', 'gguf'], /not the model that tiny\/\S+ was trained on; .*\[BAD_MODEL\]/],
      ['plain', ['--format', 'safetensors', '--type', 'Q8_0'], /--type Q8_0: safetensors has F32, F16, BF16/],
    ] as const) {
      const { code, err } = await exported(run, ...argv);
      assert.equal(code, 2);
      assert.match(err, message);
      assert.equal(existsSync(join(place, 'out')), false);
    }
  });
});

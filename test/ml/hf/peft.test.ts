import assert from 'node:assert/strict';
import { join } from 'node:path';
import { GauntletError } from '../../../core/errors.js';
import { RandomStream } from '../../../core/random.js';
import { ROOT } from '../../../infra/root.mjs';
import { readPeft, writePeft } from '../../../ml/hf/peft.js';
import { parseSafetensors, writeSafetensors } from '../../../ml/hf/safetensors.js';
import { layoutSize, loraLayout } from '../../../ml/nn/layout.js';
import { loadModel } from '../../support/loadModel.js';

const { config } = loadModel(join(ROOT, 'test', 'ml', 'parity', 'generate'));
const stream = new RandomStream('peft');
const values = Float32Array.from({ length: layoutSize(loraLayout(config, 4)) }, () => stream.uniform());
const adapter = { rank: 4, alpha: 6, values };
const files = () => writePeft(config, adapter, 'tiny');
const configOf = (f: Map<string, Uint8Array>) =>
  JSON.parse(new TextDecoder().decode(f.get('adapter_config.json'))) as Record<string, unknown>;

describe('PEFT adapters', () => {
  it('are read back unchanged, and equal values give equal bytes', () => {
    assert.deepEqual(readPeft(config, files()), adapter);
    assert.deepEqual(files(), files());
  });

  it('have the names, shapes and fields of PEFT', () => {
    const tensors = parseSafetensors(files().get('adapter_model.safetensors')!, 'x');
    assert.equal(tensors.size, 2 * 7 * config.layers);
    assert.deepEqual(tensors.get('base_model.model.model.layers.2.self_attn.q_proj.lora_A.weight')!.shape, [4, 48]);
    assert.deepEqual(tensors.get('base_model.model.model.layers.0.mlp.down_proj.lora_B.weight')!.shape, [48, 4]);
    const fields = configOf(files());
    assert.equal(fields.peft_type, 'LORA');
    assert.equal(fields.task_type, 'CAUSAL_LM');
    assert.equal(fields.r, 4);
    assert.equal(fields.lora_alpha, 6);
    assert.equal(fields.base_model_name_or_path, 'tiny');
    assert.deepEqual(fields.target_modules, ['q', 'k', 'v', 'o', 'gate', 'up', 'down'].map((x) => `${x}_proj`).sort());
  });

  it('refuses an adapter that does not fit and names the file, field or tensor', () => {
    const refused = (change: (f: Map<string, Uint8Array>) => void, pattern: RegExp) => {
      const changed = files();
      change(changed);
      assert.throws(
        () => readPeft(config, changed),
        (e: unknown) => e instanceof GauntletError && e.code === 'BAD_ADAPTER' && pattern.test(e.message),
      );
    };
    const field = (name: string, value: unknown) => (f: Map<string, Uint8Array>) =>
      f.set('adapter_config.json', new TextEncoder().encode(JSON.stringify({ ...configOf(f), [name]: value })));
    const tensors = (change: (t: ReturnType<typeof parseSafetensors>) => void) => (f: Map<string, Uint8Array>) => {
      const all = parseSafetensors(f.get('adapter_model.safetensors')!, 'x');
      change(all);
      f.set('adapter_model.safetensors', writeSafetensors(all));
    };
    const name = 'base_model.model.model.layers.1.mlp.up_proj.lora_A.weight';
    refused((f) => f.delete('adapter_config.json'), /no adapter_config.json/);
    refused((f) => f.delete('adapter_model.safetensors'), /no adapter_model.safetensors/);
    refused((f) => f.set('adapter_config.json', Uint8Array.of(123)), /not JSON/);
    refused((f) => f.set('adapter_config.json', new TextEncoder().encode('null')), /not a JSON object/);
    refused((f) => f.set('adapter_model.safetensors', Uint8Array.of(1, 2)), /truncated/);
    refused(field('peft_type', 'IA3'), /peft_type IA3/);
    refused(field('r', 0), /r must be a positive integer/);
    refused(
      field('r', 5),
      /has shape \[4,48\], this model needs \[5,48\]; adapter_config\.json says r 5, the tensor has 4/,
    );
    refused(field('r', 1e12), /r 1000000000000, the tensor has 4/);
    refused(field('lora_alpha', '6'), /lora_alpha/);
    refused(field('target_modules', ['q_proj']), /target_modules must be/);
    refused(field('bias', 'all'), /bias all/);
    refused(field('use_rslora', true), /use_rslora/);
    refused(field('target_parameters', ['mlp.experts']), /target_parameters is not supported/);
    refused(field('init_lora_weights', 'pissa_niter_4'), /init_lora_weights pissa_niter_4 changes the base/);
    refused(field('rank_pattern', { q_proj: 2 }), /rank_pattern/);
    refused(
      tensors((t) => t.delete(name)),
      /no tensor .*layers.1.mlp.up_proj.lora_A/,
    );
    refused(
      tensors((t) => t.set('odd', { shape: [1], data: Float32Array.of(1) })),
      /tensor odd belongs to no projection/,
    );
  });

  it('refuses an adapter for a model of other sizes and names the field', () => {
    const cases: [Partial<typeof config>, RegExp][] = [
      [{ layers: 2 }, /the adapter is for 3 layers, this model has num_hidden_layers 2/],
      [
        { hidden: 64 },
        /q_proj\.lora_A\.weight has shape \[4,48\].* hidden_size is 48 in the adapter's model and 64 in/,
      ],
      [{ heads: 8 }, /q_proj\.lora_B\.weight .* num_attention_heads · head_dim is 48 .* 64 in this one/],
      [{ kvHeads: 3 }, /k_proj\.lora_B\.weight .* num_key_value_heads · head_dim is 16 .* 24 in this one/],
      [{ ffn: 81 }, /gate_proj\.lora_B\.weight .* intermediate_size is 80 .* 81 in this one/],
    ];
    for (const [change, pattern] of cases)
      assert.throws(() => readPeft({ ...config, ...change }, files()), { code: 'BAD_ADAPTER', message: pattern });
  });

  it('accepts fields that do not change the computation: another base name, dropout, fields of later versions', () => {
    const changed = files();
    const foreign = {
      base_model_name_or_path: 'org/other',
      lora_dropout: 0.1,
      alora_invocation_tokens: null,
      peft_version: '9',
    };
    changed.set('adapter_config.json', new TextEncoder().encode(JSON.stringify({ ...configOf(changed), ...foreign })));
    assert.deepEqual(readPeft(config, changed), adapter);
  });
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { GauntletError } from '../../../core/base/errors.js';
import { RandomStream } from '../../../core/base/random.js';
import { ROOT } from '../../../infra/root.mjs';
import { readPeft, writePeft } from '../../../ml/hf/peft.js';
import { parseSafetensors, writeSafetensors } from '../../../ml/hf/safetensors.js';
import { type Adapter, layoutSize, loraLayout, loraViews } from '../../../ml/nn/layout.js';
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
    refused(field('target_modules', ['q_proj']), /adapter_config.json does not name the module of tensor .*k_proj/);
    refused(field('target_modules', []), /target_modules must be a list of modules/);
    refused(field('exclude_modules', ['k_proj']), /does not name the module of tensor .*k_proj/);
    refused(field('layers_to_transform', [0]), /does not name the module of tensor .*layers\.1/);
    refused(field('layers_to_transform', 'all'), /layers_to_transform must be/);
    refused(field('use_dora', true), /use_dora is not supported/);
    refused(field('modules_to_save', ['lm_head']), /modules_to_save is not supported/);
    refused(field('fan_in_fan_out', true), /fan_in_fan_out is not supported/);
    refused(field('alpha_pattern', { '(q|v)_proj': 3 }), /alpha_pattern has the key .*; only names of modules/);
    refused(field('alpha_pattern', { q_proj: 'x' }), /alpha_pattern.q_proj must be a positive number/);
    refused(field('bias', 'all'), /bias all/);
    refused(field('target_parameters', ['mlp.experts']), /target_parameters is not supported/);
    refused(field('init_lora_weights', 'pissa_niter_4'), /init_lora_weights pissa_niter_4 changes the base/);
    refused(field('rank_pattern', { q_proj: 2 }), /q_proj.lora_A.weight has shape \[4,48\], this model needs \[2,48\]/);
    refused(
      tensors((t) => t.delete(name)),
      /no tensor .*layers.1.mlp.up_proj.lora_A/,
    );
    refused(
      tensors((t) => t.set('odd', { shape: [1], data: Float32Array.of(1) })),
      /tensor odd belongs to no projection/,
    );
    refused(
      tensors((t) => t.get(name)!.data.fill(Number.NaN, 2, 3)),
      /the adapter holds a value that is not finite/,
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

  describe('with other settings of PEFT', () => {
    /** The product of scale, B and A for every module: what the adapter adds to its weights. */
    const deltas = (one: Adapter): Map<string, number[]> => {
      const views = loraViews(config, one);
      const modules = [...views.keys()].filter((name) => name.endsWith('A.weight'));
      return new Map(
        modules.map((name) => {
          const [a, b] = [views.get(name)!, views.get(name.replace('A.weight', 'B.weight'))!];
          const [rows, columns] = [b.shape[0]!, a.shape[1]!];
          const cell = (i: number): number => {
            let sum = 0;
            for (let r = 0; r < one.rank; r++)
              sum += b.data[Math.floor(i / columns) * one.rank + r]! * a.data[r * columns + (i % columns)]!;
            return (sum * one.alpha) / one.rank;
          };
          return [name, Array.from({ length: rows * columns }, (_, i) => cell(i))];
        }),
      );
    };
    const whole = deltas(adapter);
    const read = (
      fields: object,
      keeps: (tensor: string) => boolean = () => true,
      ranks: Record<string, number> = {},
    ) => {
      const changed = files();
      const all = parseSafetensors(changed.get('adapter_model.safetensors')!, 'x');
      for (const [name, { shape, data }] of all) {
        const rank = Object.entries(ranks).find(([module]) => name.includes(`.${module}.`))?.[1];
        if (!keeps(name)) all.delete(name);
        else if (rank !== undefined) {
          const [rows, columns] = shape as [number, number]; // the first ranks only
          const cut = name.includes('lora_A')
            ? data.slice(0, rank * columns)
            : data.filter((_, i) => i % columns < rank);
          all.set(name, { shape: name.includes('lora_A') ? [rank, columns] : [rows, rank], data: cut });
        }
      }
      changed.set('adapter_model.safetensors', writeSafetensors(all));
      changed.set('adapter_config.json', new TextEncoder().encode(JSON.stringify({ ...configOf(changed), ...fields })));
      return readPeft(config, changed);
    };
    const close = (actual: readonly number[], expected: readonly number[], factor: number, name: string): void => {
      for (const [i, value] of actual.entries()) assert.ok(Math.abs(value - expected[i]! * factor) < 1e-4, name);
    };

    it('have the same tensors with all-linear, full names and regular expressions', () => {
      const full = [...whole.keys()].map((name) => name.replace('base_model.model.', '').replace('.lora_A.weight', ''));
      for (const target_modules of ['all-linear', full, '.*_proj', '(a+)+$'])
        assert.deepEqual(read({ target_modules }), adapter);
      assert.throws(
        () => read({ target_modules: 'all-linear' }, (name) => !name.includes('q_proj')),
        /no tensor .*q_proj/,
      );
      assert.throws(
        () => read({ target_modules: '.*_proj' }, (name) => !name.includes('q_proj.lora_B')),
        /no tensor .*q_proj.lora_B/,
      );
      assert.throws(() => read({ target_modules: '.*' }, () => false), /no tensor of a projection/);
    });

    it('leave modules and layers that they do not name as they are', () => {
      const isQv = (name: string): boolean => /\.[qv]_proj\./.test(name);
      const cases: [object, (name: string) => boolean][] = [
        [{ target_modules: ['q_proj', 'v_proj'] }, isQv],
        [{ target_modules: '.*[qv]_proj' }, isQv],
        [{ target_modules: 'all-linear', exclude_modules: ['up_proj'] }, (name) => !name.includes('up_proj')],
        [{ layers_to_transform: [1] }, (name) => name.includes('.layers.1.')],
        [{ layers_to_transform: 0 }, (name) => name.includes('.layers.0.')],
      ];
      for (const [fields, keeps] of cases)
        for (const [name, delta] of deltas(read(fields, keeps)))
          close(delta, whole.get(name)!, keeps(name) ? 1 : 0, name);
    });

    it('have the scales of rslora and alpha_pattern, and the ranks of rank_pattern', () => {
      for (const [name, delta] of deltas(read({ use_rslora: true }))) close(delta, whole.get(name)!, 2, name);
      const scaled = deltas(read({ alpha_pattern: { q_proj: 12, '^model.layers.0.mlp.up_proj': 3 } }));
      for (const [name, delta] of scaled)
        close(
          delta,
          whole.get(name)!,
          name.includes('q_proj') ? 2 : name.includes('layers.0.mlp.up_proj') ? 0.5 : 1,
          name,
        );
      const all = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];
      const every = read({ alpha_pattern: Object.fromEntries(all.map((name) => [name, 12])) });
      for (const [name, delta] of deltas(every)) close(delta, whole.get(name)!, 2, name);
      const ranked = read({ r: 16, use_rslora: true, rank_pattern: Object.fromEntries(all.map((name) => [name, 4])) });
      for (const [name, delta] of deltas(ranked)) close(delta, whole.get(name)!, 2, name);
      const mixed = read({ rank_pattern: { v_proj: 2 } }, () => true, { v_proj: 2 });
      assert.equal(mixed.rank, 4);
      const first = deltas({ ...adapter, values: Float32Array.from(mixed.values) });
      for (const [name, delta] of deltas(mixed)) if (!name.includes('v_proj')) close(delta, whole.get(name)!, 1, name);
      assert.ok([...first].some(([name, delta]) => name.includes('v_proj') && delta.some((x) => x !== 0)));
    });
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

// The table of presets in docs/how-to/use-another-model.md has the parameters and the estimated memory of each model.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PRESET_NAMES, resolveConfig } from '../../../core/config/presets.js';
import { ROOT } from '../../../infra/root.mjs';
import { PUBLISHED as SHAPES, shapeConfig } from '../../../lab/bench/shapes.js';
import { estimateMemory } from '../../../ml/engine/memory.js';
import { parseModelConfig } from '../../../ml/hf/config.js';
import type { ModelFiles } from '../../../ml/hf/model.js';
import { elements, parameterLayout } from '../../../ml/nn/layout.js';

const SMOL = { hidden: 576, layers: 30, heads: 9, kvHeads: 3, ffn: 1536, vocab: 49152, context: 8192 };
const QWEN3 = { hidden: 1024, layers: 28, heads: 16, kvHeads: 8, ffn: 3072, vocab: 151936, context: 40960 };
const LLAMA = { hidden: 2048, layers: 16, heads: 32, kvHeads: 8, ffn: 8192, vocab: 128256, context: 131072 };
const llama = { architectures: ['LlamaForCausalLM'], model_type: 'llama' };
const qwen3 = { architectures: ['Qwen3ForCausalLM'], model_type: 'qwen3', head_dim: 128 };

/** The relevant fields of the published config.json. */
const CONFIGS: Record<string, Record<string, unknown>> = {
  'HuggingFaceTB/SmolLM2-135M-Instruct': shapeConfig(SMOL, llama),
  'Qwen/Qwen2.5-Coder-0.5B-Instruct': shapeConfig(SHAPES['0.5B']),
  'Qwen/Qwen3-0.6B': shapeConfig(QWEN3, qwen3),
  'meta-llama/Llama-3.2-1B-Instruct': shapeConfig(LLAMA, llama),
  'Qwen/Qwen2.5-Coder-1.5B-Instruct': shapeConfig(SHAPES['1.5B']),
  'Qwen/Qwen2.5-Coder-7B-Instruct': shapeConfig(SHAPES['7B'], { tie_word_embeddings: false }),
};

/** A model of BF16 files that are not there. */
function modelOf(id: string): ModelFiles {
  const config = parseModelConfig(CONFIGS[id]!, id);
  let parameters = 0;
  const stored = parameterLayout(config).map(({ name, shape }) => {
    parameters += elements(shape);
    return [name, { path: id, dtype: 'BF16', offset: 0, length: 2 * elements(shape), shape }] as const;
  });
  return { path: id, config, eosTokens: [], generation: {}, parameters, stored: new Map(stored) };
}

/** The estimate for 32 rows of 512 tokens that are decoded at once, or one that is trained, with the presets' LoRA rank. */
function gigabytes(model: ModelFiles, bits?: 8 | 4): string {
  const use = { sequences: 32, length: 512, rank: 16, ...(bits && { quantization: { bits, groupSize: 32 } }) };
  const bytes = (['decode', 'train'] as const).map((task) => estimateMemory(model, { ...use, task }));
  return (Math.max(...bytes) / 1e9).toFixed(1);
}

describe('the presets of public models', () => {
  it('are documented with the memory that they need', () => {
    const text = readFileSync(join(ROOT, 'docs', 'how-to', 'use-another-model.md'), 'utf8');
    const rows = [...text.matchAll(/^\| `([a-z\d.-]+)` \| (\S+\/.*) \|$/gm)].map(([, name, cells]) => [
      name,
      ...cells!.split(' | ').slice(0, 5),
    ]);
    const expected = PRESET_NAMES.filter((name) => resolveConfig({ preset: name }).prompts === 'instruct').map(
      (name) => {
        const { model: id } = resolveConfig({ preset: name });
        const model = modelOf(id);
        const millions = `${Math.round(model.parameters / 1e6)} M`;
        return [name, id, millions, gigabytes(model), gigabytes(model, 8), gigabytes(model, 4)];
      },
    );
    assert.deepEqual(rows, expected);
  });
});

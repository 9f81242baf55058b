// The models of the benchmarks: folders in Hugging Face layout with the sizes of published models, some with fewer layers.
// Weights and adapters are random with a seed, because speed and memory do not depend on them.
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseModelConfig } from '../../ml/hf/config.js';
import { writePeft } from '../../ml/hf/peft.js';
import { layoutSize, loraLayout } from '../../ml/nn/layout.js';
import { uniform, writeRandomCheckpoint } from './checkpoint.js';

export interface Shape {
  hidden: number;
  layers: number;
  heads: number;
  kvHeads: number;
  ffn: number;
  vocab: number;
  context: number; // in tokens
}

const TINY: Shape = { hidden: 256, layers: 4, heads: 4, kvHeads: 2, ffn: 704, vocab: 2048, context: 2048 };

/** The sizes of Qwen2.5-Coder, from its published config.json. */
export const PUBLISHED = {
  '0.5B': { hidden: 896, layers: 24, heads: 14, kvHeads: 2, ffn: 4864, vocab: 151936, context: 32768 },
  '1.5B': { hidden: 1536, layers: 28, heads: 12, kvHeads: 2, ffn: 8960, vocab: 151936, context: 32768 },
  '7B': { hidden: 3584, layers: 28, heads: 28, kvHeads: 4, ffn: 18944, vocab: 152064, context: 32768 }, // its output projection is not tied
} satisfies Record<string, Shape>;

export const SHAPES = {
  embedded: { hidden: 128, layers: 4, heads: 4, kvHeads: 2, ffn: 352, vocab: 394, context: 512 }, // the shipped model
  tiny: TINY,
  '0.5b-6l': { ...PUBLISHED['0.5B'], layers: 6 },
  '1.5b-2l': { ...PUBLISHED['1.5B'], layers: 2 },
  smollm2: { hidden: 576, layers: 30, heads: 9, kvHeads: 3, ffn: 1536, vocab: 49152, context: 8192 }, // has real weights
  'tiny-2l': { ...TINY, layers: 2 },
  'tiny-8l': { ...TINY, layers: 8 },
  'tiny-12l': { ...TINY, layers: 12 },
} satisfies Record<string, Shape>;
export type ShapeName = keyof typeof SHAPES;

export const RANK = 8;
export const ALPHA = 16;

/** The config.json of a Qwen2 model of this shape. @param more fields that replace the defaults */
export function shapeConfig(shape: Shape, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    architectures: ['Qwen2ForCausalLM'],
    model_type: 'qwen2',
    hidden_size: shape.hidden,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.kvHeads,
    intermediate_size: shape.ffn,
    vocab_size: shape.vocab,
    max_position_embeddings: shape.context,
    rms_norm_eps: 1e-6,
    rope_theta: 1e6,
    tie_word_embeddings: true,
    hidden_act: 'silu',
    attention_dropout: 0,
    use_sliding_window: false,
    bos_token_id: null,
    eos_token_id: null,
    pad_token_id: null,
    torch_dtype: 'float32',
    ...more,
  };
}

/** Makes the config.json of a published model. */
export const CONFIGS = {
  'SmolLM2-135M': shapeConfig(SHAPES.smollm2, {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    rope_theta: 1e5,
  }),
  'Qwen2.5-0.5B': shapeConfig(PUBLISHED['0.5B']),
  'Qwen2.5-1.5B': shapeConfig(PUBLISHED['1.5B']),
  'Qwen2.5-7B': shapeConfig(PUBLISHED['7B'], { tie_word_embeddings: false }),
};

/** Writes the model and its adapter (in the folder `adapter`) unless they exist. @returns the model's folder */
export function provideShape(name: ShapeName, cache: string): string {
  const folder = join(cache, name);
  if (existsSync(folder)) return folder;
  const part = `${folder}.${process.pid}.part`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(join(part, 'adapter'), { recursive: true });
  const config = shapeConfig(SHAPES[name]);
  writeFileSync(join(part, 'config.json'), JSON.stringify(config, null, 1));
  writeRandomCheckpoint(join(part, 'model.safetensors'), config, { dtype: 'F32', seed: name });
  for (const [file, bytes] of randomAdapter(config, name)) writeFileSync(join(part, 'adapter', file), bytes);
  renameSync(part, folder);
  return folder;
}

/** @param size the size of the numbers in B; small numbers change answers little */
export function randomAdapter(config: Record<string, unknown>, seed: string, size = 0.03): Map<string, Uint8Array> {
  const model = parseModelConfig(config, seed);
  const layout = loraLayout(model, RANK);
  const values = new Float32Array(layoutSize(layout));
  for (const { name, shape, offset } of layout) {
    const next = uniform(0, name.includes('.lora_A.') ? 1 / Math.sqrt(shape[1]!) : size, seed, name);
    for (let i = 0; i < shape[0]! * shape[1]!; i++) values[offset + i] = next();
  }
  return writePeft(model, { rank: RANK, alpha: ALPHA, values }, seed);
}

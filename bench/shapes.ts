// The models that are measured: folders in Hugging Face layout with the exact sizes of published models (some with
// fewer layers) and seeded random weights, each with an adapter whose A and B are both random. Speed and memory do not
// depend on what the weights are.
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { deriveKey } from '../core/random.js';
import { parseModelConfig } from '../ml/hf/config.js';
import { writePeft } from '../ml/hf/peft.js';
import { parameterLayout } from '../ml/nn/decoder.js';
import { layoutSize, loraLayout } from '../ml/nn/lora.js';

export interface Shape {
  hidden: number;
  layers: number;
  heads: number;
  kvHeads: number;
  ffn: number;
  vocab: number;
  context: number; // tokens
}

const TINY: Shape = { hidden: 256, layers: 4, heads: 4, kvHeads: 2, ffn: 704, vocab: 2048, context: 2048 };
const B05: Shape = { hidden: 896, layers: 24, heads: 14, kvHeads: 2, ffn: 4864, vocab: 151936, context: 32768 };
const B15: Shape = { hidden: 1536, layers: 28, heads: 12, kvHeads: 2, ffn: 8960, vocab: 151936, context: 32768 };

export const SHAPES = {
  embedded: { hidden: 128, layers: 4, heads: 4, kvHeads: 2, ffn: 352, vocab: 394, context: 512 }, // the shipped model
  tiny: TINY,
  '0.5b-6l': { ...B05, layers: 6 }, // Qwen2.5-Coder-0.5B
  '1.5b-2l': { ...B15, layers: 2 }, // Qwen2.5-Coder-1.5B
  'tiny-2l': { ...TINY, layers: 2 },
  'tiny-8l': { ...TINY, layers: 8 },
  'tiny-12l': { ...TINY, layers: 12 },
} satisfies Record<string, Shape>;
export type ShapeName = keyof typeof SHAPES;

export const RANK = 8;
export const ALPHA = 16;

/** config.json of a Qwen2 model of this shape. */
export function shapeConfig(shape: Shape): Record<string, unknown> {
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
  };
}

/** Writes the model and its adapter (folder `adapter` inside) unless they are there whole. @returns the model's folder */
export function provideShape(name: ShapeName, cache: string): string {
  const folder = join(cache, name);
  if (existsSync(folder)) return folder;
  const part = `${folder}.${process.pid}.part`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(join(part, 'adapter'), { recursive: true });
  const config = shapeConfig(SHAPES[name]);
  writeFileSync(join(part, 'config.json'), JSON.stringify(config, null, 1));
  writeRandomCheckpoint(join(part, 'model.safetensors'), config, name);
  for (const [file, bytes] of randomAdapter(config, name)) writeFileSync(join(part, 'adapter', file), bytes);
  renameSync(part, folder);
  return folder;
}

/** Every parameter of a configuration as f32 in one safetensors file, written tensor by tensor. */
export function writeRandomCheckpoint(path: string, config: Record<string, unknown>, seed: string): void {
  const layout = parameterLayout(parseModelConfig(config, path));
  const sizes = layout.map(({ shape }) => shape.reduce((a, b) => a * b, 1));
  let at = 0;
  const header = Object.fromEntries(
    layout.map(({ name, shape }, i) => {
      const begin = at;
      at += sizes[i]! * 4;
      return [name, { dtype: 'F32', shape, data_offsets: [begin, at] }];
    }),
  );
  const text = JSON.stringify(header);
  const padded = text.padEnd(Math.ceil(text.length / 8) * 8);
  const length = new BigUint64Array([BigInt(padded.length)]);
  const fd = openSync(path, 'w');
  try {
    writeSync(fd, new Uint8Array(length.buffer));
    writeSync(fd, padded);
    for (const [i, { name, shape }] of layout.entries()) {
      const data = new Float32Array(sizes[i]!);
      if (name.endsWith('norm.weight')) fill(data, 0.1, 1, seed, name);
      else if (name.endsWith('.bias')) fill(data, 0.1, 0, seed, name);
      else fill(data, name.includes('embed_tokens') ? 0.02 : 0.7 / Math.sqrt(shape[1]!), 0, seed, name);
      const bytes = new Uint8Array(data.buffer);
      for (let done = 0; done < bytes.length; )
        done += writeSync(fd, bytes, done, Math.min(1 << 28, bytes.length - done));
    }
  } finally {
    closeSync(fd);
  }
}

function randomAdapter(config: Record<string, unknown>, seed: string): Map<string, Uint8Array> {
  const model = parseModelConfig(config, seed);
  const layout = loraLayout(model, RANK);
  const values = new Float32Array(layoutSize(layout));
  for (const { name, shape, offset } of layout) {
    const std = name.includes('.lora_A.') ? 1 / Math.sqrt(3 * shape[1]!) : 0.02;
    fill(values.subarray(offset, offset + shape[0]! * shape[1]!), std, 0, seed, name);
  }
  return writePeft(model, { rank: RANK, alpha: ALPHA, values }, seed);
}

/** Uniform with this mean and standard deviation; xorshift (Marsaglia 2003), since there are hundreds of millions. */
function fill(data: Float32Array, std: number, mean: number, ...path: string[]): void {
  let state = (deriveKey('bench', ...path)[0] | 1) >>> 0;
  const scale = (2 * Math.sqrt(3) * std) / 2 ** 32;
  for (let i = 0; i < data.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    data[i] = mean + ((state >>> 0) - 2 ** 31) * scale;
  }
}

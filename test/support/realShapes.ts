// Checkpoints of the exact published shapes, filled with seeded random numbers and written block by block: what loads,
// maps, quantises and trains them is what a user's download meets.
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { deriveKey } from '../../core/random.js';
import { parseModelConfig } from '../../ml/hf/config.js';
import { parameterLayout } from '../../ml/nn/decoder.js';

/** Qwen2.5-Coder, from the config.json that Qwen publishes. */
export const REAL_SHAPES = {
  '0.5B': { hidden_size: 896, num_hidden_layers: 24, num_attention_heads: 14, intermediate_size: 4864 },
  '1.5B': { hidden_size: 1536, num_hidden_layers: 28, num_attention_heads: 12, intermediate_size: 8960 },
} as const;
export type RealShape = keyof typeof REAL_SHAPES;

export interface RealShapeOptions {
  layers?: number; // absent: as published
  vocab?: number; // absent: as published
  dtype?: 'BF16' | 'F32';
  seed?: string;
}

const BLOCK = 1 << 20; // numbers

/** Writes config.json and model.safetensors. @returns the folder */
export function writeRealShape(
  folder: string,
  shape: RealShape,
  { layers, vocab = 151936, dtype = 'BF16', seed = 'real-shape' }: RealShapeOptions = {},
): string {
  const sizes = REAL_SHAPES[shape];
  const config = {
    architectures: ['Qwen2ForCausalLM'],
    model_type: 'qwen2',
    ...sizes,
    num_hidden_layers: layers ?? sizes.num_hidden_layers,
    num_key_value_heads: 2,
    vocab_size: vocab,
    max_position_embeddings: 32768,
    rms_norm_eps: 1e-6,
    rope_theta: 1e6,
    tie_word_embeddings: true,
    hidden_act: 'silu',
    use_sliding_window: false,
    eos_token_id: 151645,
    torch_dtype: dtype === 'BF16' ? 'bfloat16' : 'float32',
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config, null, 1));
  const layout = parameterLayout(parseModelConfig(config, folder));
  const width = dtype === 'BF16' ? 2 : 4;
  let at = 0;
  const header = Object.fromEntries(
    layout.map(({ name, shape: dims }) => {
      const begin = at;
      at += dims.reduce((a, b) => a * b, width);
      return [name, { dtype, shape: dims, data_offsets: [begin, at] }];
    }),
  );
  const json = JSON.stringify({ __metadata__: { format: 'pt' }, ...header });
  const padded = Buffer.from(json.padEnd(Math.ceil(json.length / 8) * 8));
  const fd = openSync(join(folder, 'model.safetensors'), 'w');
  try {
    writeSync(fd, new Uint8Array(new BigUint64Array([BigInt(padded.length)]).buffer));
    writeSync(fd, padded);
    for (const { name, shape: dims } of layout) writeTensor(fd, name, dims, dtype, seed);
  } finally {
    closeSync(fd);
  }
  return folder;
}

/** Uniform around 1 (norms) or 0, of a spread that keeps activations of order one; xorshift (Marsaglia 2003). */
function writeTensor(fd: number, name: string, dims: readonly number[], dtype: 'BF16' | 'F32', seed: string): void {
  const size = dims.reduce((a, b) => a * b, 1);
  const mean = name.endsWith('norm.weight') ? 1 : 0;
  const spread = dims.length === 1 || name.includes('embed_tokens') ? 0.1 : 1 / Math.sqrt(dims[1]!);
  let state = (deriveKey(seed, name)[0] | 1) >>> 0;
  const block = new Float32Array(BLOCK);
  for (let start = 0; start < size; start += BLOCK) {
    const part = block.subarray(0, Math.min(BLOCK, size - start));
    for (let i = 0; i < part.length; i++) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      part[i] = mean + spread * ((state >>> 0) / 2 ** 31 - 1);
    }
    writeSync(fd, dtype === 'F32' ? new Uint8Array(part.buffer, 0, part.byteLength) : bfloat16(part));
  }
}

/** The upper halves: truncated, as good as rounded for random numbers. */
function bfloat16(numbers: Float32Array): Uint8Array {
  const halves = new Uint16Array(numbers.buffer, numbers.byteOffset, 2 * numbers.length);
  return new Uint8Array(Uint16Array.from({ length: numbers.length }, (_, i) => halves[2 * i + 1]!).buffer);
}

// safetensors files of any size filled with seeded random numbers, written block by block: what loads, maps, quantises
// and trains them is what a user's download meets.
import { closeSync, openSync, writeSync } from 'node:fs';
import { deriveKey } from '../core/random.js';
import { parseModelConfig } from '../ml/hf/config.js';
import { parameterLayout } from '../ml/nn/layout.js';

const BLOCK = 1 << 20; // numbers

/** Every parameter of a config.json in one file. */
export function writeRandomCheckpoint(
  path: string,
  config: Record<string, unknown>,
  { dtype, seed }: { dtype: 'BF16' | 'F32'; seed: string },
): void {
  const layout = parameterLayout(parseModelConfig(config, path));
  const width = dtype === 'BF16' ? 2 : 4;
  let at = 0;
  const header = Object.fromEntries(
    layout.map(({ name, shape }) => {
      const begin = at;
      at += shape.reduce((a, b) => a * b, width);
      return [name, { dtype, shape, data_offsets: [begin, at] }];
    }),
  );
  const json = JSON.stringify({ __metadata__: { format: 'pt' }, ...header });
  const padded = Buffer.from(json.padEnd(Math.ceil(json.length / 8) * 8));
  const fd = openSync(path, 'w');
  try {
    writeSync(fd, new Uint8Array(new BigUint64Array([BigInt(padded.length)]).buffer));
    writeSync(fd, padded);
    for (const { name, shape } of layout) writeTensor(fd, name, shape, dtype, seed);
  } finally {
    closeSync(fd);
  }
}

/** Around 1 (norms) or 0, of a spread that keeps activations of order one. */
function writeTensor(fd: number, name: string, shape: readonly number[], dtype: 'BF16' | 'F32', seed: string): void {
  const size = shape.reduce((a, b) => a * b, 1);
  const mean = name.endsWith('norm.weight') ? 1 : 0;
  const spread = shape.length === 1 || name.includes('embed_tokens') ? 0.1 : 1 / Math.sqrt(shape[1]!);
  const next = uniform(mean, spread, seed, name);
  const block = new Float32Array(BLOCK);
  for (let start = 0; start < size; start += BLOCK) {
    const part = block.subarray(0, Math.min(BLOCK, size - start));
    for (let i = 0; i < part.length; i++) part[i] = next();
    writeSync(fd, dtype === 'F32' ? new Uint8Array(part.buffer, 0, part.byteLength) : bfloat16(part));
  }
}

/** Draws in mean ± spread; xorshift (Marsaglia 2003), since there are hundreds of millions. */
export function uniform(mean: number, spread: number, ...key: string[]): () => number {
  let state = (deriveKey(...key)[0] | 1) >>> 0;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return mean + spread * ((state >>> 0) / 2 ** 31 - 1);
  };
}

/** The upper halves: truncated, as good as rounded for random numbers. */
function bfloat16(numbers: Float32Array): Uint8Array {
  const halves = new Uint16Array(numbers.buffer, numbers.byteOffset, 2 * numbers.length);
  return new Uint8Array(Uint16Array.from({ length: numbers.length }, (_, i) => halves[2 * i + 1]!).buffer);
}

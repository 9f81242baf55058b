// Writes safetensors files of any size with seeded random numbers, block by block. The other benchmarks load, map, quantize
// and train them like downloaded models.
import { writeSync } from 'node:fs';
import { deriveKey } from '../../core/base/random.js';
import { parseModelConfig } from '../../ml/hf/config.js';
import { withFile } from '../../ml/hf/files.js';
import { safetensorsHeader } from '../../ml/hf/safetensors.js';
import { elements, parameterLayout } from '../../ml/nn/layout.js';

const BLOCK = 1 << 20; // the number of values in a block

/** Writes every parameter of a config.json to one file. */
export function writeRandomCheckpoint(
  path: string,
  config: Record<string, unknown>,
  { dtype, seed }: { dtype: 'BF16' | 'F32'; seed: string },
): void {
  const layout = parameterLayout(parseModelConfig(config, path));
  withFile(path, 'w', (fd) => {
    writeSync(fd, safetensorsHeader(layout.map(({ name, shape }) => ({ name, shape, dtype }))).header);
    for (const { name, shape } of layout) writeTensor(fd, name, shape, dtype, seed);
  });
}

/** Draws numbers around 1 (norms) or 0, with a spread that keeps activations near one. */
function writeTensor(fd: number, name: string, shape: readonly number[], dtype: 'BF16' | 'F32', seed: string): void {
  const size = elements(shape);
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

/** Draws uniform numbers in mean ± spread. Uses xorshift (Marsaglia 2003), because hundreds of millions are needed. */
export function uniform(mean: number, spread: number, ...key: string[]): () => number {
  let state = (deriveKey(...key)[0] | 1) >>> 0;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return mean + spread * ((state >>> 0) / 2 ** 31 - 1);
  };
}

/** Truncates numbers to their upper halves. For random numbers, truncation is as good as rounding. */
function bfloat16(numbers: Float32Array): Uint8Array {
  const halves = new Uint16Array(numbers.buffer, numbers.byteOffset, 2 * numbers.length);
  return new Uint8Array(Uint16Array.from({ length: numbers.length }, (_, i) => halves[2 * i + 1]!).buffer);
}

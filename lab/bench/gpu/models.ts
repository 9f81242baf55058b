// The models of the GPU benchmark: sizes of published models, filled with the same random numbers again and again, which is fast.
// Speed does not depend on them.
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DeviceTensor, type Elements, type MemoryKind } from '../../../ml/device/deviceSession.js';
import { parseModelConfig } from '../../../ml/hf/config.js';
import { withFile } from '../../../ml/hf/files.js';
import { safetensorsHeader } from '../../../ml/hf/safetensors.js';
import { bfloat16Bits, float16Bits } from '../../../ml/ir/bits16.js';
import type { CacheType } from '../../../ml/nn/cacheAttention.js';
import { elements, parameterLayout } from '../../../ml/nn/layout.js';
import { uniform } from '../checkpoint.js';
import { CONFIGS } from '../shapes.js';

export type ModelName = keyof typeof CONFIGS;

const BLOCK = 1 << 20; // numbers
const SPREAD = 0.03;

/** The config.json. @param small two layers instead of all */
export const configOf = (name: ModelName, small: boolean): Record<string, unknown> => ({
  ...CONFIGS[name],
  ...(small && { num_hidden_layers: 2 }),
});

export const decoderOf = (name: ModelName, small: boolean) => parseModelConfig(configOf(name, small), name);

const blocks = new Map<string, Elements>();

/** Numbers for a parameter of this name: 1 for norms, else around 0. */
function blockFor(name: string, type: CacheType): Elements {
  const isNorm = name.includes('norm');
  const key = `${type} ${isNorm}`;
  const known = blocks.get(key);
  if (known) return known;
  const next = uniform(0, SPREAD, 'gpu');
  const numbers = Float32Array.from({ length: BLOCK }, () => (isNorm ? 1 : next()));
  const made = type === 'float32' ? numbers : { float16: float16Bits, bfloat16: bfloat16Bits }[type](numbers);
  blocks.set(key, made);
  return made;
}

/** The pieces of the block that fill `count` numbers, each of a multiple of `width`. */
function* pieces(name: string, type: CacheType, count: number, width: number): Generator<[start: number, Elements]> {
  const block = blockFor(name, type);
  const most = width * Math.floor(block.length / width);
  for (let at = 0; at < count; at += most) yield [at, block.subarray(0, Math.min(most, count - at))];
}

/** A tensor of weights on the device. */
export function randomTensor(memory: MemoryKind, type: CacheType, name: string, shape: readonly number[]) {
  const tensor = DeviceTensor.empty(memory, type, shape);
  const width = elements(shape.slice(1));
  for (const [start, piece] of pieces(name, type, elements(shape), width)) {
    const part = tensor.rows(start / width, piece.length / width);
    part.write(piece);
    part.dispose();
  }
  return tensor;
}

/** A folder with the model in bfloat16, as its publisher stores it. Written once. */
export function provideModel(name: ModelName, small: boolean, cache: string): string {
  const folder = join(cache, small ? `${name}-2l` : name);
  if (existsSync(folder)) return folder;
  const part = `${folder}.${process.pid}.part`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(part, { recursive: true });
  const config = configOf(name, small);
  writeFileSync(join(part, 'config.json'), JSON.stringify(config));
  const layout = parameterLayout(parseModelConfig(config, name));
  const { header } = safetensorsHeader(layout.map(({ name, shape }) => ({ name, shape, dtype: 'BF16' })));
  withFile(join(part, 'model.safetensors'), 'w', (file) => {
    writeSync(file, header);
    for (const { name, shape } of layout)
      for (const [, piece] of pieces(name, 'bfloat16', elements(shape), 1)) writeSync(file, piece);
  });
  renameSync(part, folder);
  return folder;
}

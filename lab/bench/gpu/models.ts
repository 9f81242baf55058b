// The models of the GPU benchmark. They have the sizes of published models, and repeat one block of random numbers, because
// that is fast to write and speed does not depend on the numbers.
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

const BLOCK = 1 << 20; // the number of values in a block
const SPREAD = 0.03;

/** Makes the config.json. @param small keeps two layers instead of all */
export const configOf = (name: ModelName, small: boolean): Record<string, unknown> => ({
  ...CONFIGS[name],
  ...(small && { num_hidden_layers: 2 }),
});

export const decoderOf = (name: ModelName, small: boolean) => parseModelConfig(configOf(name, small), name);

const blocks = new Map<string, Elements>();

/** Chooses values by the name of a parameter: 1 for norms, otherwise values around 0. */
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

/** Repeats the block until it has `count` numbers. Every piece has a multiple of `width` numbers. */
function* pieces(name: string, type: CacheType, count: number, width: number): Generator<[start: number, Elements]> {
  const block = blockFor(name, type);
  const most = width * Math.floor(block.length / width);
  for (let at = 0; at < count; at += most) yield [at, block.subarray(0, Math.min(most, count - at))];
}

/** Makes a tensor of weights on the device. */
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

/** Writes a folder with the model in bfloat16, as publishers do, unless the folder exists. */
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

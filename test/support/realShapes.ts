// Checkpoints of the exact published shapes, filled with seeded random numbers.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeRandomCheckpoint } from '../../lab/bench/checkpoint.js';
import { PUBLISHED, shapeConfig } from '../../lab/bench/shapes.js';

export type RealShape = keyof typeof PUBLISHED;

export interface RealShapeOptions {
  layers?: number; // the published value by default
  vocab?: number; // the published value by default
  dtype?: 'BF16' | 'F32';
  seed?: string;
}

/** Writes config.json and model.safetensors. @returns the folder */
export function writeRealShape(
  folder: string,
  shape: RealShape,
  { layers, vocab, dtype = 'BF16', seed = 'real-shape' }: RealShapeOptions = {},
): string {
  const published = PUBLISHED[shape];
  const config = shapeConfig(
    { ...published, layers: layers ?? published.layers, vocab: vocab ?? published.vocab },
    { eos_token_id: 151645, torch_dtype: dtype === 'BF16' ? 'bfloat16' : 'float32' },
  );
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config, null, 1));
  writeRandomCheckpoint(join(folder, 'model.safetensors'), config, { dtype, seed });
  return folder;
}

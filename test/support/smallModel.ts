// A model folder whose small sizes are divisible by groups of 16 and 32, and sequences to train it on.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RandomStream } from '../../core/base/random.js';
import { writeRandomCheckpoint } from '../../lab/bench/checkpoint.js';
import { shapeConfig } from '../../lab/bench/shapes.js';
import type { Adapter } from '../../ml/engine/engine.js';
import { describeModel, type ModelFiles } from '../../ml/hf/model.js';
import { layoutSize, loraLayout } from '../../ml/nn/layout.js';

export const SMALL = { hidden: 64, layers: 2, heads: 4, kvHeads: 2, ffn: 96, vocab: 50, context: 256 };

/** Writes config.json and model.safetensors. @returns their description */
export function writeSmallModel(
  folder: string,
  { dtype = 'F32', tied = true, vocab = SMALL.vocab }: { dtype?: 'F32' | 'BF16'; tied?: boolean; vocab?: number } = {},
): ModelFiles {
  mkdirSync(folder, { recursive: true });
  const config = { ...shapeConfig({ ...SMALL, vocab }), tie_word_embeddings: tied };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  writeRandomCheckpoint(join(folder, 'model.safetensors'), config, { dtype, seed: 'small' });
  return describeModel(folder);
}

/** Makes both A and B random, so that no gradient is zero. */
export function randomAdapter({ config }: ModelFiles, rank = 4): Adapter {
  const random = new RandomStream('adapter');
  const values = Float32Array.from({ length: layoutSize(loraLayout(config, rank)) }, () => 0.1 * random.normal());
  return { rank, alpha: 2 * rank, values };
}

export function randomRows(lengths: readonly number[]) {
  const random = new RandomStream('rows');
  return lengths.map((length) => {
    const tokens = Array.from({ length }, () => random.int(0, SMALL.vocab - 1));
    return {
      tokens,
      mask: tokens.map((_, t): number => (t > length / 3 ? 1 : 0)),
      oldLogprobs: tokens.map(() => -4 + random.uniform()),
      advantage: random.uniform() - 0.5,
    };
  });
}

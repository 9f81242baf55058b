// A model folder with random weights and the embedded model's tokenizer, for tests that need an engine but no trained model.
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RandomStream } from '../../core/base/random.js';
import { shippedModelPath } from '../../data/paths.js';
import { parseModelConfig } from '../../ml/hf/config.js';
import { writeSafetensors } from '../../ml/hf/safetensors.js';
import type { TensorData } from '../../ml/nn/layout.js';
import { parameterLayout } from '../../ml/nn/layout.js';

export interface RandomModelSize {
  hidden?: number;
  layers?: number;
  context?: number;
}

export async function writeRandomModel(
  folder: string,
  { hidden = 32, layers = 2, context = 256 }: RandomModelSize = {},
): Promise<string> {
  await mkdir(folder, { recursive: true });
  const shipped = shippedModelPath('tiny');
  const config = {
    ...(JSON.parse(await readFile(join(shipped, 'config.json'), 'utf8')) as Record<string, unknown>),
    hidden_size: hidden,
    intermediate_size: 2 * hidden,
    num_hidden_layers: layers,
    num_attention_heads: 2,
    num_key_value_heads: 1,
    max_position_embeddings: context,
  };
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
  for (const name of ['tokenizer.json', 'tokenizer_config.json', 'generation_config.json'])
    await copyFile(join(shipped, name), join(folder, name));
  const weights = new Map<string, TensorData>();
  for (const { name, shape } of parameterLayout(parseModelConfig(config, folder))) {
    const random = new RandomStream('random-model', name);
    const size = shape.reduce((a, b) => a * b, 1);
    const data = Float32Array.from({ length: size }, () => (name.endsWith('norm.weight') ? 1 : 0.3 * random.normal()));
    weights.set(name, { shape: [...shape], data });
  }
  await writeFile(join(folder, 'model.safetensors'), writeSafetensors(weights));
  return folder;
}

// A model folder with random weights and the embedded model's tokenizer, for tests that need an engine but no trained model.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RandomStream } from '../../core/random.js';
import { tinyCorpus } from '../../data/tiny/corpusProblems.js';
import { tinyModelFiles } from '../../data/tiny/modelFiles.js';
import { vocabularyOf } from '../../data/tiny/vocabulary.js';
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
  const files = tinyModelFiles(vocabularyOf(tinyCorpus()));
  const config = {
    ...(JSON.parse(files.get('config.json')!) as Record<string, unknown>),
    hidden_size: hidden,
    intermediate_size: 2 * hidden,
    num_hidden_layers: layers,
    num_attention_heads: 2,
    num_key_value_heads: 1,
    max_position_embeddings: context,
  };
  files.set('config.json', JSON.stringify(config));
  for (const [name, text] of files) await writeFile(join(folder, name), text);
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

// Draws random initial weights. Every tensor depends only on the seed and the tensor's name.
import { RandomStream } from '../../../core/base/random.js';
import type { ModelConfig } from '../../../ml/hf/config.js';
import type { TensorData } from '../../../ml/nn/layout.js';
import { parameterLayout } from '../../../ml/nn/layout.js';

const EMBEDDING_STD = 0.05;

/**
 * The embedding is N(0, 0.05²) and matrices are N(0, 1/in). The two matrices that write into the residual stream are divided
 * by √(2·layers) (Radford et al. 2019, GPT-2). Norms are 1 and biases 0.
 */
export function initialWeights(config: ModelConfig, seed: number): Map<string, TensorData> {
  const weights = new Map<string, TensorData>();
  for (const { name, shape } of parameterLayout(config)) {
    const data = new Float32Array(shape.reduce((size, dim) => size * dim, 1));
    if (name.endsWith('norm.weight')) data.fill(1);
    else if (!name.endsWith('.bias')) fillNormal(data, standardDeviation(name, shape, config), seed, name);
    weights.set(name, { shape: [...shape], data });
  }
  return weights;
}

function standardDeviation(name: string, shape: readonly number[], config: ModelConfig): number {
  if (name === 'model.embed_tokens.weight') return EMBEDDING_STD;
  const residual = /(o_proj|down_proj)\.weight$/.test(name) ? Math.sqrt(2 * config.layers) : 1;
  return 1 / Math.sqrt(shape[1]!) / residual;
}

function fillNormal(data: Float32Array, std: number, seed: number, name: string): void {
  const random = new RandomStream('tiny-init', seed, name);
  for (let i = 0; i < data.length; i++) data[i] = std * random.normal();
}

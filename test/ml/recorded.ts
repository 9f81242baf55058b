// Reads the results of torch, transformers and peft (parity/record.py) as plain arrays.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import { parseSafetensors } from '../../ml/hf/safetensors.js';
import type { DecoderConfig } from '../../ml/nn/config.js';
import type { TensorData } from '../../ml/nn/layout.js';

/** The sizes of record.py. */
export const RECORDED_CONFIG: DecoderConfig = {
  hidden: 32,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 8,
  ffn: 48,
  vocab: 61,
  normEps: 1e-6,
  ropeTheta: 10000,
  biases: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  qkNorm: false,
  tied: true,
};
export const RECORDED = { rank: 4, alpha: 8, clip: 0.2, temperature: 0.8, rows: 3, length: 17 };

/** The fixture in test/ml, since the compiler does not copy it to dist. */
const DEFAULT_PATH = join(ROOT, 'test/ml/parity/recorded.safetensors');

export class Recorded {
  private readonly tensors: Map<string, TensorData>;
  constructor(path = process.env.GAUNTLET_PARITY ?? DEFAULT_PATH) {
    this.tensors = parseSafetensors(readFileSync(path), path);
  }
  get(name: string): Float32Array {
    return this.tensors.get(name)!.data;
  }
  shape(name: string): number[] {
    return this.tensors.get(name)!.shape;
  }
  /** Tensors whose name starts with a prefix, by the rest of their name. */
  all(prefix: string): Map<string, TensorData> {
    const chosen = [...this.tensors].filter(([name]) => name.startsWith(prefix));
    return new Map(chosen.map(([name, tensor]) => [name.slice(prefix.length), tensor]));
  }
}

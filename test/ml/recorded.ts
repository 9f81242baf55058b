// Reads the results of torch, transformers and peft (parity/record.py) as plain arrays.
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import { SafetensorsFile } from '../../ml/hf/safetensors.js';
import type { DecoderConfig } from '../../ml/nn/config.js';

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
  private readonly file: SafetensorsFile;
  constructor(path = process.env.GAUNTLET_PARITY ?? DEFAULT_PATH) {
    this.file = new SafetensorsFile(path);
  }
  get(name: string): Float32Array {
    return this.file.read(name);
  }
  shape(name: string): number[] {
    return this.file.entries.get(name)!.shape;
  }
  /** Tensors whose name starts with a prefix, by the rest of their name. */
  all(prefix: string): Map<string, { shape: number[]; data: Float32Array }> {
    const names = [...this.file.entries.keys()].filter((name) => name.startsWith(prefix));
    return new Map(names.map((name) => [name.slice(prefix.length), { shape: this.shape(name), data: this.get(name) }]));
  }
  close(): void {
    this.file.close();
  }
}

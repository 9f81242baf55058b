// The engine's port: one base model on disk, any adapter, decode and train. Implemented over onnxruntime-node in
// worker threads; nothing here computes on the caller's event loop.
import type { PolicyStats, Trajectory } from '../../core/schema/trajectory.js';

/** LoRA tensors of all seven projections as one flat vector in the canonical order of `loraLayout`. */
export interface Adapter {
  rank: number;
  alpha: number;
  values: Float32Array;
}

/** AdamW moments, aligned with Adapter.values. `step` counts applied updates. */
export interface OptimizerState {
  step: number;
  m: Float32Array;
  v: Float32Array;
}

export interface GenerateRow {
  prompt: number[]; // token ids, at least one
  key: readonly [number, number]; // stream of uniforms: token j of the answer takes draw j
}

export interface GenerateOptions {
  adapter?: Adapter; // absent: the base
  maxNewTokens: number;
  temperature: number; // 0 = greedy
  topP?: number; // absent: no cut (training rollouts)
  stopTokens: number[]; // an answer ends with, and includes, one of these
  signal?: AbortSignal;
  onProgress?: (tokens: number) => void;
}

export interface Generated {
  tokens: number[];
  finished: boolean; // false: cut by maxNewTokens or the context length
}

export interface LossConfig {
  clip: number; // ε of the clipped surrogate
  temperature: number; // log-probs are those of softmax(logits / temperature)
}

/** Sums over the trained tokens of some rows; add shards in index order, divide once. */
export interface GradientSums {
  gradients: Float32Array; // of −Σ min(ratio·A, clip(ratio)·A) over masked tokens, flat like Adapter.values
  loss: number;
  ratio: number;
  approxKl: number;
  clipped: number;
  entropy: number;
  tokens: number;
}

export interface AdamWConfig {
  learningRate: number;
  betas: readonly [number, number];
  eps: number;
  weightDecay: number;
  maxGradNorm: number;
}

export interface ModelInfo {
  path: string;
  architecture: string; // 'Qwen2ForCausalLM'
  digest: string; // of the weights and config
  parameters: number;
  vocabSize: number;
  contextLength: number;
  eosTokens: number[];
}

export interface Engine {
  readonly info: ModelInfo;
  /** Turns of a conversation as tokens; see ml/hf/chat.ts. @throws BAD_MODEL where the folder has no tokenizer. */
  encode(text: string): number[];
  decode(tokens: number[]): string; // lossless: special tokens are kept, drop a final eos before parsing
  /** Tokens of the opening of a conversation up to where the assistant begins to answer. */
  openingTokens(messages: { role: 'system' | 'user'; content: string }[]): number[];
  /** Tokens to append after an answer (which ended with eos, or was cut) for one more user turn. */
  continuationTokens(content: string, previousFinished: boolean): number[];
  initAdapter(config: { rank: number; alpha: number }, seed: number): Adapter; // A uniform (kaiming, a = √5), B zero
  newOptimizerState(adapter: Adapter): OptimizerState;
  generate(rows: GenerateRow[], options: GenerateOptions): Promise<Generated[]>;
  /** Log-probs per row, aligned with tokens (entry 0 is 0). temperature divides the logits. */
  logprobs(
    rows: { tokens: number[] }[],
    options: { adapter?: Adapter; temperature: number; signal?: AbortSignal },
  ): Promise<number[][]>;
  /** One minibatch: gradients summed over shards of a fixed size in index order, whatever the number of workers. */
  gradients(
    rows: Trajectory[],
    options: { adapter: Adapter; loss: LossConfig; signal?: AbortSignal },
  ): Promise<GradientSums>;
  /** Divides by tokens, clips by global norm, one AdamW step. Pure: returns new values. */
  applyUpdate(
    adapter: Adapter,
    state: OptimizerState,
    sums: GradientSums,
    config: AdamWConfig,
  ): Promise<{ adapter: Adapter; state: OptimizerState; stats: PolicyStats }>;
  /** PEFT's adapter folder as files, and back. @throws BAD_ADAPTER naming the field. */
  exportAdapter(adapter: Adapter): Map<string, Uint8Array>; // adapter_config.json, adapter_model.safetensors
  importAdapter(files: Map<string, Uint8Array>): Adapter;
  close(): Promise<void>;
}

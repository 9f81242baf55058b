// The engine's port: one base model on disk, any adapter, decode and train. Implemented over onnxruntime-node in
// worker threads; nothing here computes on the caller's event loop.
import type { PolicyStats, Trajectory } from '../../core/schema/trajectory.js';

export const DEVICES = ['cpu', 'cuda', 'webgpu', 'auto'] as const;
export type Device = (typeof DEVICES)[number];

/** Weights of the projections kept in few bits: groups of `groupSize` along the input share a scale. */
export interface Quantization {
  bits: 4 | 8;
  groupSize: number;
}

/** How a model is opened. Only `quantization` may change a result by a bit; `device` may too, other hardware. */
export interface EngineOptions {
  cores?: number; // to share out; absent: GAUNTLET_THREADS, else all
  workers?: number; // worker threads; absent: a rule on the model's size and the machine's cores
  threads?: number; // of each worker
  device?: Device; // default cpu
  quantization?: Quantization;
  checkpointing?: boolean; // recompute layers in the backward pass; absent: where keeping them takes much memory
  kvCacheBytes?: number; // bound of the keys and values kept between calls; 0: none are. Absent: 256 MB
  force?: boolean; // open it even where the memory foreseen is not there
}

/** LoRA tensors of all seven projections as one flat vector in the canonical order of `adapterLayout`. */
export interface Adapter {
  rank: number;
  alpha: number;
  values: Float32Array;
  /** The value head's weight [hidden] and bias [1] follow the LoRA tensors in `values`. */
  valueHead?: boolean;
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
  /**
   * Ranges [from, to) of the prompt that this engine had sampled, in order. Their keys and values are those of decoding
   * steps, so that an answer is the same to the bit whether they were kept or are computed again.
   */
  sampled?: readonly (readonly [number, number])[];
}

export interface GenerateOptions {
  adapter?: Adapter; // absent: the base
  maxNewTokens: number;
  logprobs?: boolean; // tell those of the sampled tokens
  temperature: number; // 0 = greedy
  topP?: number; // absent: no cut (training rollouts)
  topK?: number; // keep the k likeliest; absent: all
  repetitionPenalty?: number; // > 1 lowers logits of tokens of the row so far (Keskar et al. 2019); absent: 1, off
  stopTokens: number[]; // an answer ends with, and includes, one of these
  signal?: AbortSignal;
  onProgress?: (tokens: number) => void;
}

/** Tokens of all calls of `generate`, by what was done with them. */
export interface GenerateCounts {
  prefilled: number; // read as part of a prompt
  replayed: number; // sampled by an earlier call, fed again to fill the cache
  reused: number; // found in the cache
  sampled: number;
}

export interface Generated {
  tokens: number[];
  finished: boolean; // false: cut by maxNewTokens or the context length
  logprobs?: number[]; // under the tempered, cut distribution that each token was drawn from
}

export interface LossConfig {
  clip: number; // ε of the clipped surrogate
  clipHigh?: number; // ε above 1 (asymmetric clip); absent: clip
  temperature: number; // log-probs are those of softmax(logits / temperature)
  average?: 'token' | 'sequence'; // mean over all trained tokens, or over sequences of their means
  entropyBonus?: number; // coefficient of the policy's entropy, which is added to what is maximised
  klCoefficient?: number; // of the penalty against the rows' referenceLogprobs
  valueCoefficient?: number; // of the value head's loss, for an adapter that has one
  valueClip?: number; // values move at most so far from the rows' old values; absent: no clip
  /**
   * Of the LoRA inputs. The mask is a function of the key, of a row's index among the rows of the call, and of layer,
   * projection, position and feature: neither shards nor workers nor padding show in it. A new key for every minibatch.
   */
  dropout?: { rate: number; key: readonly [number, number] };
}

/**
 * Sums over the trained tokens of some rows; add shards in index order, divide once. Gradients and loss are sums of
 * weighted terms, to be divided by `divisor`; the statistics are sums over tokens, to be divided by `tokens`.
 */
export interface GradientSums {
  gradients: Float32Array; // of the loss, flat like Adapter.values
  /** Of all terms together: what is minimised. */
  loss: number;
  /** Trained tokens, or for `average: 'sequence'` the sequences with one, each weighing its tokens by 1 / their number. */
  divisor: number;
  ratio: number;
  approxKl: number;
  clipped: number;
  entropy: number; // Σ −log p of the sampled tokens
  tokens: number;
  policyLoss?: number; // of the clipped surrogate alone, where the loss has other terms
  exactEntropy?: number; // of the whole distribution, with an entropy bonus
  kl?: number; // to the reference, with a KL penalty
  valueLoss?: number; // ½·(squared error), with a value loss; so the five below
  valueClipped?: number; // tokens whose value moved out of its clip range
  returns?: number;
  returnsSquared?: number;
  valueErrors?: number; // returns − values
  valueErrorsSquared?: number;
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
  openingTokens(messages: { role: 'system' | 'user' | 'assistant'; content: string }[]): number[];
  /** Tokens to append after an answer (which ended with eos, or was cut) for one more user turn. */
  continuationTokens(content: string, previousFinished: boolean): number[];
  initAdapter(config: { rank: number; alpha: number; valueHead?: boolean }, seed: number): Adapter; // A uniform (kaiming, a = √5), B zero
  newOptimizerState(adapter: Adapter): OptimizerState;
  generate(rows: GenerateRow[], options: GenerateOptions): Promise<Generated[]>;
  stats(): GenerateCounts;
  /** Log-probs per row, aligned with tokens (entry 0 is 0). temperature divides the logits. */
  logprobs(
    rows: { tokens: number[] }[],
    options: { adapter?: Adapter; temperature: number; signal?: AbortSignal },
  ): Promise<number[][]>;
  /**
   * The value head's estimates per row, aligned as log-probs are: entry t is that of the state in which token t was
   * chosen, after the tokens before it (entry 0 is 0). @throws BAD_ADAPTER without a head
   */
  values(rows: { tokens: number[] }[], options: { adapter: Adapter; signal?: AbortSignal }): Promise<number[][]>;
  /** One minibatch: gradients summed over shards of a fixed size in index order, whatever the number of workers. */
  gradients(
    rows: Trajectory[],
    options: { adapter: Adapter; loss: LossConfig; signal?: AbortSignal },
  ): Promise<GradientSums>;
  /** Divides by the divisor, clips by global norm, one AdamW step. Pure: returns new values. */
  applyUpdate(
    adapter: Adapter,
    state: OptimizerState,
    sums: GradientSums,
    config: AdamWConfig,
  ): Promise<{ adapter: Adapter; state: OptimizerState; stats: PolicyStats }>;
  /** PEFT's adapter folder as files, and back. @throws BAD_ADAPTER naming the field. */
  exportAdapter(adapter: Adapter): Map<string, Uint8Array>; // adapter_config.json, adapter_model.safetensors; value_head.safetensors where there is one
  importAdapter(files: Map<string, Uint8Array>): Adapter;
  close(): Promise<void>;
}

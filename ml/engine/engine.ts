// The engine's port: one base model on disk, any adapter, generation and training. The implementation runs
// onnxruntime-node in worker threads. On the caller's event loop it only copies and hashes adapters and adds gradients.
import type { Content } from '../../core/prompts/prompts.js';
import type { Shard } from '../../core/run/shards.js';
import type { DEVICES, PRECISIONS, TemplateArguments } from '../../core/schema/config.js';
import type { PolicyStats, TokenScores, Trajectory } from '../../core/schema/trajectory.js';
import type { ChatMessage } from '../hf/chat.js';
import type { GenerationDefaults } from '../hf/config.js';
import type { Quantization } from '../hf/packed.js';
import type { Adapter } from '../nn/layout.js';
import type { AdamWConfig, OptimizerState } from '../optim/adamw.js';

export type { AdamWConfig, OptimizerState } from '../optim/adamw.js';
export type { Adapter };

export type Device = (typeof DEVICES)[number];
export type Precision = (typeof PRECISIONS)[number];

/** How a model is opened. Only `quantization`, `precision`, `activationBytes`, `decoderRows` and `device` can change a result. */
export interface EngineOptions {
  cores?: number; // cores to use; default: GAUNTLET_THREADS, else all
  workers?: number; // worker threads; default: depends on the size of the model and the number of cores
  threads?: number; // threads of each worker
  device?: Device; // default cpu
  quantization?: Quantization;
  precision?: Precision; // of layers when they score and train policies, and on cuda also when they sample; default f32
  checkpointing?: boolean; // recompute layers in the backward pass; default: if keeping them takes much memory
  activationBytes?: number; // limit for sequences that are trained together, set for a GPU; default: what suits a CPU
  decoderRows?: number; // sequences that the decoder of a GPU samples at the same time; default 64
  kvCacheBytes?: number; // limit of cached keys and values, the current call included; 0: no cache; default: a share of the budget
}

export interface GenerateRequest {
  prompt: number[]; // token ids, at least one
  key: readonly [number, number]; // names a random stream: token j of the answer uses its number j
  /**
   * The ranges [from, to) of the prompt that this engine sampled, in order. Their keys and values come from decoding
   * steps, so an answer is the same to the bit whether they are cached or computed again.
   */
  sampled?: readonly (readonly [number, number])[];
}

export interface GenerateOptions {
  adapter?: Adapter; // absent: the base
  maxNewTokens: number;
  logprobs?: boolean; // return the log-probs of the sampled tokens
  temperature: number; // 0 = greedy
  topP?: number; // default: 1, off (training rollouts)
  topK?: number; // sample from the k most likely tokens; default: all
  repetitionPenalty?: number; // > 1 lowers the logits of earlier tokens (Keskar et al. 2019); default: 1, off
  stopTokens: number[]; // an answer ends with, and includes, one of these
  stopSequences?: number[][] | undefined; // an answer also ends with, and includes, one of these
  signal?: AbortSignal;
  onProgress?: (tokens: number) => void; // called at least once a second while the model runs, even without a new token
}

export interface CallOptions {
  signal?: AbortSignal;
  onProgress?: (amount: number) => void; // called after each part of the call; the amount is 0
}

/** Tokens of all calls of `generate`, by how they were processed. */
export interface GenerateCounts {
  prefilled: number; // read as part of a prompt
  redecoded: number; // sampled by an earlier call, and fed again to fill the cache
  reused: number; // found in the cache
  sampled: number;
}

export interface Generated {
  tokens: number[];
  finished: boolean; // false: stopped by maxNewTokens or the context length
  logprobs?: number[]; // under the distribution that each token was drawn from
}

export interface LossConfig {
  supervised?: boolean; // the loss is cross entropy, weighted by the advantage; it needs no oldLogprobs and no clip
  clip: number; // ε of the clipped surrogate
  clipHigh?: number; // ε above 1 (asymmetric clip); default: clip
  temperature: number; // log-probs are those of softmax(logits / temperature)
  average?: 'token' | 'sequence'; // mean over all trained tokens, or over the means of the sequences
  entropyBonus?: number; // coefficient of the policy's entropy
  klCoefficient?: number; // coefficient of the KL penalty against referenceLogprobs
  /**
   * Dropout of the LoRA inputs. The mask is a function of key, index of the sequence in the call, layer, projection,
   * position and feature. It does not depend on shards, workers or padding. Use a new key for every minibatch.
   */
  dropout?: { rate: number; key: readonly [number, number] };
}

/**
 * Sums over the trained tokens of some sequences. Sums of parts are added in index order and divided once: gradients and
 * loss are sums of weighted terms, divided by `divisor`; the statistics are sums over tokens, divided by `tokens`.
 */
export interface GradientSums {
  gradients: Float32Array; // flat like Adapter.values
  loss: number; // contains all terms
  /** The number of trained tokens; for `average: 'sequence'`, of sequences with a trained token, which have weight 1 each. */
  divisor: number;
  ratio: number;
  approxKl: number;
  clipped: number;
  entropy: number; // Σ −log p of the sampled tokens
  tokens: number;
  policyLoss?: number; // the clipped surrogate; only if the loss has other terms
  exactEntropy?: number; // entropy of the whole distributions; only with an entropy bonus
  kl?: number; // divergence from the reference; only with a KL penalty
  ratios?: number[][]; // π / π_old of every trained token, aligned with the tokens of each sequence; not if supervised
}

/** A part of a minibatch whose gradients are computed in one run of the graph. */
export interface GradientPart {
  index: number; // its place among the parts of the minibatch
  sums: GradientSums;
}

export interface ModelInfo {
  path: string;
  architecture: string; // for example 'Qwen2ForCausalLM'
  digest: string; // covers weights, configuration, tokenizer and chat template
  parameters: number;
  vocabSize: number;
  contextLength: number;
  eosTokens: number[];
  generation: GenerationDefaults;
}

/** Conversations as tokens, as the chat template of the model writes them. */
export interface Chat {
  /** Whether the model may think before it answers. */
  thinks(): boolean;
  /** The tokens of the opening messages, up to the start of the assistant's answer. @param begun the answer's first text */
  openingTokens(messages: ChatMessage[], begun?: string): number[];
  /**
   * The tokens between an answer and the next one.
   * @param endToken the last token of the answer; undefined: it was truncated
   * @param begun the next answer's first text
   */
  continuationTokens(content: Content, endToken?: number, begun?: string): number[];
  /** The tokens that end an answer: those that the model's files name, and the one that the template writes. */
  endTokens(): number[];
  /** The tokens of an answer that is given, with the end token of the template. Text never becomes control tokens. */
  answerTokens(text: string): number[];
  /** The range of prompt and answer together that the template leaves out once another turn follows. */
  thinkingRange(promptTokens: readonly number[], answerTokens: readonly number[]): [number, number] | undefined;
}

export interface Engine {
  readonly info: ModelInfo;
  /** Methods that take or return text use the tokenizer. @throws BAD_MODEL if the folder has none */
  encode(text: string): number[];
  decode(tokens: number[]): string; // keeps special tokens; remove a final eos before parsing
  /** Its methods throw BAD_MODEL if the folder has no chat template. */
  chat(templateArguments?: TemplateArguments): Chat;
  initAdapter(config: { rank: number; alpha: number }, seed: number): Adapter; // A uniform (kaiming, a = √5), B zero
  newOptimizerState(adapter: Adapter): OptimizerState;
  generate(requests: GenerateRequest[], options: GenerateOptions): Promise<Generated[]>;
  stats(): GenerateCounts;
  /** Log-probs of the tokens of each sequence (entry 0 is 0). With masks, entries where a mask is 0 may be 0. */
  logprobs(
    sequences: { tokens: number[]; mask?: number[] }[],
    options: { adapter?: Adapter; temperature: number } & CallOptions,
  ): Promise<number[][]>;
  /** Log-probs, and the entropies of the distributions that the tokens are drawn from. */
  scores(...args: Parameters<Engine['logprobs']>): Promise<TokenScores[]>;
  /** The scores of one shard, bit for bit those of `scores`; null for sequences of other shards. */
  scoreShard(
    sequences: { tokens: number[]; mask?: number[] }[],
    options: Parameters<Engine['logprobs']>[1] & { shard: Shard },
  ): Promise<(TokenScores | null)[]>;
  /** The gradients of one minibatch. The result does not depend on the number of workers. */
  gradients(
    sequences: Trajectory[],
    options: { adapter: Adapter; loss: LossConfig } & CallOptions,
  ): Promise<GradientSums>;
  /** The parts of a minibatch that belong to one shard. */
  gradientShard(
    sequences: Trajectory[],
    options: Parameters<Engine['gradients']>[1] & { shard: Shard },
  ): Promise<GradientPart[]>;
  /** The gradients of a minibatch from the parts of all its shards, bit for bit those of `gradients`. */
  sumGradients(
    sequences: Trajectory[],
    options: Parameters<Engine['gradients']>[1],
    parts: readonly GradientPart[],
  ): GradientSums;
  /** Divides by the divisor, clips by global norm, and returns the result of one AdamW step. Changes no argument. */
  applyUpdate(
    adapter: Adapter,
    state: OptimizerState,
    sums: GradientSums,
    config: AdamWConfig,
  ): Promise<{ adapter: Adapter; state: OptimizerState; stats: PolicyStats }>;
  /** PEFT's adapter folder as files: adapter_config.json and adapter_model.safetensors. */
  exportAdapter(adapter: Adapter): Map<string, Uint8Array>;
  /** @throws BAD_ADAPTER naming the field */
  importAdapter(files: Map<string, Uint8Array>): Adapter;
  close(): Promise<void>;
}

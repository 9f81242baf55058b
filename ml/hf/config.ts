// config.json of a Hugging Face model folder, reduced to what the Qwen2 graphs need. Whatever would change the
// computation and is not supported is refused by name here, before any weight is read.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../core/errors.js';
import type { DecoderConfig } from '../nn/decoder.js';
import { readJson } from './tokenizer.js';

/** What config.json says about a model that these graphs can run. */
export interface ModelConfig extends DecoderConfig {
  architecture: 'Qwen2ForCausalLM';
  contextLength: number; // in tokens
}

/** @throws {GauntletError} BAD_MODEL naming `where` and the field */
export function parseModelConfig(json: Record<string, unknown>, where: string): ModelConfig {
  const fail = (what: string): never => {
    throw new GauntletError('BAD_MODEL', `${where}: ${what}`);
  };
  const architecture = Array.isArray(json.architectures) ? String(json.architectures[0]) : String(json.model_type);
  if (architecture !== 'Qwen2ForCausalLM') fail(`architecture ${architecture} is not supported, only Qwen2ForCausalLM`);
  const size = (field: string, absent?: number): number => {
    const value = json[field] ?? absent;
    if (!Number.isSafeInteger(value) || (value as number) < 1)
      fail(`field ${field} must be a positive integer, is ${value}`);
    return value as number;
  };
  const positive = (field: string, value: unknown): number => {
    if (typeof value !== 'number' || !(value > 0) || !Number.isFinite(value))
      fail(`field ${field} must be a positive number, is ${value}`);
    return value as number;
  };
  const rope = (json.rope_parameters ?? json.rope_scaling ?? {}) as Record<string, unknown>; // transformers ≥ 5, < 5
  const ropeType = rope.rope_type ?? rope.type ?? 'default';
  if (ropeType !== 'default') fail(`field rope_parameters.rope_type ${ropeType} is not supported`);
  if (json.use_sliding_window === true) fail('field use_sliding_window is not supported');
  if ((json.hidden_act ?? 'silu') !== 'silu') fail(`field hidden_act ${json.hidden_act} is not supported, only silu`);
  if (json.quantization_config) fail('field quantization_config is not supported');
  const hidden = size('hidden_size');
  const heads = size('num_attention_heads');
  const kvHeads = size('num_key_value_heads', heads);
  const headDim = size('head_dim', hidden / heads);
  if (heads % kvHeads !== 0) fail(`num_attention_heads ${heads} is no multiple of num_key_value_heads ${kvHeads}`);
  if (headDim % 2 !== 0) fail(`field head_dim must be even, is ${headDim}`);
  return {
    architecture: 'Qwen2ForCausalLM',
    hidden,
    layers: size('num_hidden_layers'),
    heads,
    kvHeads,
    headDim,
    ffn: size('intermediate_size'),
    vocab: size('vocab_size'),
    contextLength: size('max_position_embeddings', 32768),
    normEps: positive('rms_norm_eps', json.rms_norm_eps ?? 1e-6),
    ropeTheta: positive('rope_theta', json.rope_theta ?? rope.rope_theta ?? 10000),
    biases: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
    qkNorm: false,
    tied: json.tie_word_embeddings === true,
  };
}

/** Tokens that end an answer: of generation_config.json where it says so, else of config.json. */
export function readEosTokens(folder: string, config: Record<string, unknown>): number[] {
  const path = join(folder, 'generation_config.json');
  const value = (existsSync(path) ? readJson(path).eos_token_id : undefined) ?? config.eos_token_id ?? [];
  return (Array.isArray(value) ? value : [value]).filter((id): id is number => Number.isSafeInteger(id));
}

/** config.json as transformers writes it for such a model. */
export function writeModelConfig(
  c: ModelConfig,
  tokens: { eos: number; pad: number; bos?: number },
): Record<string, unknown> {
  return {
    architectures: [c.architecture],
    model_type: 'qwen2',
    hidden_size: c.hidden,
    num_hidden_layers: c.layers,
    num_attention_heads: c.heads,
    num_key_value_heads: c.kvHeads,
    head_dim: c.headDim,
    intermediate_size: c.ffn,
    vocab_size: c.vocab,
    max_position_embeddings: c.contextLength,
    rms_norm_eps: c.normEps,
    rope_theta: c.ropeTheta,
    tie_word_embeddings: c.tied,
    hidden_act: 'silu',
    attention_dropout: 0,
    initializer_range: 0.02,
    use_cache: true,
    use_sliding_window: false,
    bos_token_id: tokens.bos ?? null,
    eos_token_id: tokens.eos,
    pad_token_id: tokens.pad,
    torch_dtype: 'float32',
  };
}

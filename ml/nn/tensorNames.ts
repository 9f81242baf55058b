// The names of all tensors. Those of a model are Hugging Face's, those of an adapter are PEFT's.
import type { Projection } from './config.js';

export const EMBEDDING = 'model.embed_tokens.weight';
export const FINAL_NORM = 'model.norm.weight';
/** The output projection. A tied model has none of its own, but its quantized output projection has this name. */
export const HEAD = 'lm_head.weight';

export const inputNorm = (layer: number): string => `model.layers.${layer}.input_layernorm.weight`;
export const postAttentionNorm = (layer: number): string => `model.layers.${layer}.post_attention_layernorm.weight`;
/** Qwen3's norm over every head of q or k. */
export const headNorm = (layer: number, side: 'q' | 'k'): string =>
  `model.layers.${layer}.self_attn.${side}_norm.weight`;
export const weightOf = (layer: number, projection: Projection): string => `model.layers.${layer}.${projection}.weight`;
export const biasOf = (weight: string): string => weight.replace(/\.weight$/, '.bias');

const LORA = 'base_model.model';
export const loraName = (layer: number, projection: Projection, side: 'A' | 'B'): string =>
  `${LORA}.model.layers.${layer}.${projection}.lora_${side}.weight`;
export const isLora = (name: string): boolean => name.startsWith(LORA);

/** The LoRA name of a matrix that several projections form. `weight` is the name of the first one. */
export const fusedLoraName = (weight: string, side: 'A' | 'B'): string => `${weight}.lora_${side}`;

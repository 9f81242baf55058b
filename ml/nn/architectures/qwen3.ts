// Qwen3 (Yang et al. 2025): a norm over each head of q and k; the head size is a separate field.
import { type Architecture, ATTENTION } from './architecture.js';

export const qwen3: Architecture = {
  name: 'Qwen3ForCausalLM',
  modelType: 'qwen3',
  defaults: { num_key_value_heads: 32, head_dim: 128, max_position_embeddings: 32768 },
  fixed: { use_sliding_window: false },
  biases: [],
  biasFields: { attention_bias: ATTENTION },
  qkNorm: true,
};

// Qwen3 (Yang et al. 2025): norms over the heads of q and k, whose size is a field of its own.
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

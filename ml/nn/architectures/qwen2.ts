// Qwen2 and Qwen2.5 (Yang et al. 2024): biases on q, k and v.
import type { Architecture } from './architecture.js';

export const qwen2: Architecture = {
  name: 'Qwen2ForCausalLM',
  modelType: 'qwen2',
  defaults: { num_key_value_heads: 32, max_position_embeddings: 32768 },
  fixed: { use_sliding_window: false },
  biases: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  biasFields: {},
  qkNorm: false,
};

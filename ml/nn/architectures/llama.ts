// Llama (Touvron et al. 2023) up to 3.3 (Grattafiori et al. 2024): no biases unless config.json sets them.
import { type Architecture, ATTENTION, MLP } from './architecture.js';

export const llama: Architecture = {
  name: 'LlamaForCausalLM',
  modelType: 'llama',
  defaults: { max_position_embeddings: 2048 },
  fixed: {},
  biases: [],
  biasFields: { attention_bias: ATTENTION, mlp_bias: MLP },
  qkNorm: false,
};

// What the graphs need to know about a model: a pre-norm decoder with rotary positions, grouped-query attention and a
// gated MLP. The files of ml/nn/architectures say how the model families differ.

/** The matrices of a layer in the order of the forward pass. All of them have LoRA tensors. */
export const PROJECTIONS = [
  'self_attn.q_proj',
  'self_attn.k_proj',
  'self_attn.v_proj',
  'self_attn.o_proj',
  'mlp.gate_proj',
  'mlp.up_proj',
  'mlp.down_proj',
] as const;
export type Projection = (typeof PROJECTIONS)[number];

/** Llama 3's scaling of the rotary frequencies (Grattafiori et al. 2024; transformers' rope type `llama3`). */
export interface RopeScaling {
  factor: number;
  lowFreqFactor: number;
  highFreqFactor: number;
  originalContext: number; // the context length that the frequencies were trained for
}

export interface DecoderConfig {
  hidden: number;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  ffn: number;
  vocab: number;
  normEps: number;
  ropeTheta: number;
  ropeScaling?: RopeScaling;
  biases: readonly Projection[]; // projections that add a bias
  qkNorm: boolean; // RMSNorm over every head of q and k, before the rotation
  tied: boolean; // the output projection is the embedding
}

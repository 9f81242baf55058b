// What the graphs need to know of a model; ml/hf reads it from config.json.

/** Sizes and constants of a Qwen2 decoder. */
export interface Qwen2Config {
  hidden: number;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  ffn: number;
  vocab: number;
  normEps: number;
  ropeTheta: number;
  tied: boolean; // the output projection is the embedding
}

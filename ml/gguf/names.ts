// What import and export share: llama.cpp's names for fields of config.json and for tensors, and its order of rows.
import type { ModelConfig } from '../hf/config.js';

/** llama.cpp's keys for fields of config.json. The name of the architecture stands before them. */
export const KEYS = {
  hidden_size: 'embedding_length',
  num_hidden_layers: 'block_count',
  num_attention_heads: 'attention.head_count',
  num_key_value_heads: 'attention.head_count_kv',
  head_dim: 'attention.key_length',
  intermediate_size: 'feed_forward_length',
  max_position_embeddings: 'context_length',
  rms_norm_eps: 'attention.layer_norm_rms_epsilon',
  rope_theta: 'rope.freq_base',
} as const;

/** The tensor with Llama 3's divisors of the rotary frequencies. */
export const ROPE_FACTORS = 'rope_freqs.weight';

/** llama.cpp's keys for fields of tokenizer_config.json. */
export const SPECIAL_TOKENS = {
  bos_token: 'bos',
  eos_token: 'eos',
  unk_token: 'unknown',
  pad_token: 'padding',
} as const;

export const TOKEN = { normal: 1, control: 3, userDefined: 4, unused: 5 } as const;

const PARTS: Readonly<Record<string, string>> = {
  input_layernorm: 'attn_norm',
  post_attention_layernorm: 'ffn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
  'self_attn.q_norm': 'attn_q_norm',
  'self_attn.k_norm': 'attn_k_norm',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
};

export function ggufName(name: string): string {
  const match = /^model\.layers\.(\d+)\.(.+)\.(weight|bias)$/.exec(name);
  if (match) return `blk.${match[1]}.${PARTS[match[2]!]}.${match[3]}`;
  return name
    .replace('model.embed_tokens', 'token_embd')
    .replace('model.norm', 'output_norm')
    .replace('lm_head', 'output');
}

/** llama.cpp turns the rows of q and k of Llama models, head by head: the pairs of a rotation lie side by side. */
export const isTurned = ({ architecture }: ModelConfig, name: string): boolean =>
  architecture === 'LlamaForCausalLM' && /\.self_attn\.[qk]_proj\./.test(name);

/**
 * The rows of one head in the order of the other side: pair i of a rotation is rows 2i and 2i + 1 in GGUF, rows i and
 * i + half in transformers.
 */
export function turn(head: Float32Array, headDim: number, to: 'gguf' | 'transformers'): Float32Array {
  const width = head.length / headDim;
  const out = new Float32Array(head.length);
  for (let row = 0; row < headDim; row++) {
    const turned = 2 * (row % (headDim / 2)) + Math.floor(row / (headDim / 2));
    const [source, target] = to === 'gguf' ? [row, turned] : [turned, row];
    out.set(head.subarray(source * width, (source + 1) * width), target * width);
  }
  return out;
}

/** What to do with a model that llama.cpp does not have. */
export const OTHER_FORMAT = 'use --format safetensors: solve and serve open such a folder with --model';

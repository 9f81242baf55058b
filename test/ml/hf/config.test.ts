// Reads config.json of all three families as transformers 4 and 5 write it, and refuses invalid files.
import assert from 'node:assert/strict';
import { GauntletError } from '../../../core/base/errors.js';
import { type ModelConfig, parseModelConfig } from '../../../ml/hf/config.js';

const SIZES = {
  hidden_size: 48,
  num_hidden_layers: 3,
  num_attention_heads: 6,
  num_key_value_heads: 2,
  intermediate_size: 80,
  vocab_size: 67,
};
const QWEN2 = { architectures: ['Qwen2ForCausalLM'], model_type: 'qwen2', ...SIZES };
const QWEN3 = { architectures: ['Qwen3ForCausalLM'], model_type: 'qwen3', ...SIZES };
const LLAMA = { architectures: ['LlamaForCausalLM'], model_type: 'llama', ...SIZES };
const LLAMA3 = {
  rope_type: 'llama3',
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
};
const parse = (json: Record<string, unknown>): ModelConfig => parseModelConfig(json, 'config.json');
const attention = ['q', 'k', 'v', 'o'].map((x) => `self_attn.${x}_proj`);
const mlp = ['gate', 'up', 'down'].map((x) => `mlp.${x}_proj`);

describe('config.json', () => {
  it('gives the published shape of Qwen2.5-Coder-1.5B-Instruct', () => {
    const published = {
      architectures: ['Qwen2ForCausalLM'],
      attention_dropout: 0.0,
      bos_token_id: 151643,
      eos_token_id: 151645,
      hidden_act: 'silu',
      hidden_size: 1536,
      initializer_range: 0.02,
      intermediate_size: 8960,
      max_position_embeddings: 32768,
      max_window_layers: 21,
      model_type: 'qwen2',
      num_attention_heads: 12,
      num_hidden_layers: 28,
      num_key_value_heads: 2,
      rms_norm_eps: 1e-6,
      rope_theta: 1000000.0,
      sliding_window: 32768,
      tie_word_embeddings: true,
      torch_dtype: 'bfloat16',
      use_cache: true,
      use_sliding_window: false,
      vocab_size: 151936,
    };
    assert.deepEqual(parse(published), {
      architecture: 'Qwen2ForCausalLM',
      hidden: 1536,
      layers: 28,
      heads: 12,
      kvHeads: 2,
      headDim: 128,
      ffn: 8960,
      vocab: 151936,
      contextLength: 32768,
      normEps: 1e-6,
      ropeTheta: 1e6,
      biases: attention.slice(0, 3),
      qkNorm: false,
      tied: true,
    });
  });

  it('describes the head norms and the separate head size of Qwen3', () => {
    const config = parse({ ...QWEN3, head_dim: 16 });
    assert.deepEqual([config.qkNorm, config.headDim, config.biases], [true, 16, []]);
    assert.equal(parse(QWEN3).headDim, 128);
    assert.equal(parse({ ...QWEN3, head_dim: null }).headDim, 8);
    assert.deepEqual(parse({ ...QWEN3, attention_bias: true }).biases, attention);
  });

  it('lists the projections of Llama that have a bias', () => {
    assert.deepEqual(parse(LLAMA).biases, []);
    assert.deepEqual(parse({ ...LLAMA, attention_bias: true }).biases, attention);
    assert.deepEqual(parse({ ...LLAMA, mlp_bias: true }).biases, mlp);
    assert.deepEqual(parse({ ...LLAMA, attention_bias: true, mlp_bias: true }).biases, [...attention, ...mlp]);
  });

  it('may have Llama 3 frequencies in rope_scaling or rope_parameters', () => {
    const ropeScaling = { factor: 8, lowFreqFactor: 1, highFreqFactor: 4, originalContext: 8192 };
    const before5 = parse({ ...LLAMA, rope_theta: 5e5, rope_scaling: LLAMA3 });
    assert.deepEqual([before5.ropeTheta, before5.ropeScaling], [5e5, ropeScaling]);
    const since5 = parse({ ...LLAMA, rope_parameters: { ...LLAMA3, rope_theta: 5e5 }, dtype: 'bfloat16' });
    assert.deepEqual(since5, before5);
    const { original_max_position_embeddings: _, ...short } = LLAMA3;
    const context = parse({ ...LLAMA, max_position_embeddings: 4096, rope_scaling: short });
    assert.equal(context.ropeScaling!.originalContext, 4096);
  });

  it('uses the defaults of transformers', () => {
    const config = parse(LLAMA);
    assert.deepEqual([config.contextLength, config.normEps, config.ropeTheta, config.tied], [2048, 1e-6, 1e4, false]);
    assert.equal(parse({ ...LLAMA, num_key_value_heads: null }).kvHeads, 6);
    assert.equal(parse(QWEN2).contextLength, 32768);
    assert.equal(parse({ ...LLAMA, architectures: undefined }).architecture, 'LlamaForCausalLM');
  });

  it('is refused if a field is invalid or unsupported, and the error names the field', () => {
    const bad = (json: Record<string, unknown>, pattern: RegExp) =>
      assert.throws(
        () => parse(json),
        (e: unknown) =>
          e instanceof GauntletError &&
          e.code === 'BAD_MODEL' &&
          e.message.startsWith('config.json: ') &&
          pattern.test(e.message),
      );
    const supported = 'only Qwen2ForCausalLM, Qwen3ForCausalLM, LlamaForCausalLM';
    const foreign = { ...SIZES, architectures: ['MistralForCausalLM'], model_type: 'mistral' };
    bad(foreign, new RegExp(`architecture MistralForCausalLM is not supported, ${supported}$`));
    bad({ ...SIZES, model_type: 'gpt2' }, /architecture gpt2 is not supported/);
    bad({ ...QWEN2, model_type: 'llama' }, /field model_type llama does not belong to Qwen2ForCausalLM/);
    bad({ ...QWEN2, hidden_size: '48' }, /field hidden_size must be a positive integer, is 48/);
    bad({ ...QWEN2, num_hidden_layers: 0 }, /field num_hidden_layers/);
    bad({ ...QWEN2, vocab_size: undefined }, /field vocab_size .* is undefined/);
    bad({ ...QWEN2, num_key_value_heads: 4 }, /num_attention_heads 6 is not a multiple of num_key_value_heads 4/);
    assert.equal(parse({ ...QWEN2, max_position_embeddings: 2 ** 20 }).contextLength, 2 ** 20);
    const long = { ...QWEN2, max_position_embeddings: 2 ** 31 - 1 };
    bad(long, /field max_position_embeddings must be at most 1048576, is 2147483647$/);
    bad({ ...QWEN2, head_dim: 7 }, /head_dim must be even/);
    bad({ ...QWEN2, rms_norm_eps: -1 }, /field rms_norm_eps must be a positive number/);
    bad({ ...QWEN2, use_sliding_window: true }, /field use_sliding_window true is not supported, only false/);
    bad({ ...QWEN3, layer_types: ['full_attention', 'sliding_attention'] }, /layer_types sliding_attention/);
    bad({ ...QWEN3, layer_types: 'full_attention' }, /layer_types must be a list/);
    bad({ ...QWEN2, hidden_act: 'gelu' }, /field hidden_act gelu is not supported, only silu/);
    bad({ ...QWEN2, quantization_config: { bits: 4 } }, /field quantization_config is not supported$/);
    bad({ ...QWEN2, tie_word_embeddings: 1 }, /field tie_word_embeddings must be true or false/);
    bad({ ...QWEN2, rope_parameters: { rope_type: 'yarn', rope_theta: 1e4 } }, /rope_parameters.rope_type yarn/);
    bad({ ...QWEN2, rope_scaling: { type: 'linear', factor: 2 } }, /rope_scaling.rope_type linear/);
    bad({ ...QWEN2, rope_scaling: [1] }, /field rope_scaling must be an object/);
    bad({ ...LLAMA, rope_parameters: { full_attention: LLAMA3 } }, /rope_parameters.full_attention is not supported/);
    bad({ ...LLAMA, rope_scaling: { ...LLAMA3, factor: 0 } }, /field rope_scaling.factor must be a positive number/);
    bad({ ...LLAMA, rope_scaling: { ...LLAMA3, high_freq_factor: 1 } }, /high_freq_factor must be above/);
    bad({ ...LLAMA, partial_rotary_factor: 0.5 }, /field partial_rotary_factor 0.5 is not supported, only 1/);
    bad({ ...LLAMA, mlp_bias: 'yes' }, /field mlp_bias must be true or false, is yes/);
  });
});

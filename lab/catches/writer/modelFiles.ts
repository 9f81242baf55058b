// The files of a `keyhole` model except the weights. The model has the shape of the shipped models.
import { EOS, PAD, type TinyVocabulary, tokenizerConfig, tokenizerJson } from './tokenizer.js';

const TINY_CONTEXT = 512;

/** The config.json of a Qwen2 decoder with 0.8 M parameters. */
export function tinyConfig(vocabulary: TinyVocabulary): object {
  return {
    architectures: ['Qwen2ForCausalLM'],
    model_type: 'qwen2',
    vocab_size: vocabulary.tokens.length,
    hidden_size: 128,
    intermediate_size: 352,
    num_hidden_layers: 4,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    hidden_act: 'silu',
    max_position_embeddings: TINY_CONTEXT,
    rope_theta: 10000,
    rms_norm_eps: 1e-6,
    tie_word_embeddings: true,
    use_sliding_window: false,
    attention_dropout: 0,
    initializer_range: 0.05,
    bos_token_id: null,
    eos_token_id: vocabulary.idOf(EOS),
    pad_token_id: vocabulary.idOf(PAD),
    torch_dtype: 'float32',
  };
}

/** The contents of config.json, tokenizer.json, tokenizer_config.json and generation_config.json. */
export function tinyModelFiles(vocabulary: TinyVocabulary): Map<string, string> {
  const generation = {
    eos_token_id: vocabulary.idOf(EOS),
    pad_token_id: vocabulary.idOf(PAD),
    do_sample: true,
    temperature: 0.8,
  };
  const files: [string, object][] = [
    ['config.json', tinyConfig(vocabulary)],
    ['tokenizer.json', tokenizerJson(vocabulary)],
    ['tokenizer_config.json', tokenizerConfig(TINY_CONTEXT)],
    ['generation_config.json', generation],
  ];
  return new Map(files.map(([name, content]) => [name, `${JSON.stringify(content, null, 2)}\n`]));
}

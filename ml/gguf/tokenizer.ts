// The tokenizer of a GGUF file as tokenizer.json and tokenizer_config.json of the Hugging Face libraries. GGUF names the
// rule that splits text before byte-pair encoding, so each rule is written out here, as in the original tokenizer.json.
import { GauntletError } from '../../core/base/errors.js';
import type { GgufFile, GgufValue } from './file.js';
import { SPECIAL_TOKENS, TOKEN } from './names.js';

const split = (pattern: string) => ({
  type: 'Split',
  pattern: { Regex: pattern },
  behavior: 'Isolated',
  invert: false,
});
const bytes = (useRegex: boolean) => ({
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: useRegex,
});
const sequence = (...pretokenizers: object[]) => ({ type: 'Sequence', pretokenizers });
const words = (digits: string): string =>
  `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;

/** The rules by their names in `tokenizer.ggml.pre`. `wholeWords`: a word that is a token is not merged from its parts. */
export const RULES: Readonly<Record<string, { splits: object; normalizer?: object; wholeWords?: boolean }>> = {
  'gpt-2': { splits: bytes(true) },
  smollm: { splits: sequence({ type: 'Digits', individual_digits: true }, bytes(true)) },
  qwen2: { splits: sequence(split(words('\\p{N}')), bytes(false)), normalizer: { type: 'NFC' } },
  'llama-bpe': { splits: sequence(split(words('\\p{N}{1,3}')), bytes(false)), wholeWords: true },
};

export interface TokenizerFiles {
  tokenizer: object; // tokenizer.json
  config: object; // tokenizer_config.json
  endTokens: number[];
}

/** @throws {GauntletError} BAD_MODEL naming the field, if the file has no tokenizer or one of another kind */
export function tokenizerOf({ metadata, path }: GgufFile): TokenizerFiles {
  const field = (name: string): GgufValue | undefined => metadata.get(`tokenizer.ggml.${name}`);
  const fail = (what: string): never => {
    throw new GauntletError(
      'BAD_MODEL',
      `${path}: ${what}; use --tokenizer with a folder that holds the model's tokenizer.json and tokenizer_config.json`,
    );
  };
  const list = (name: string, isRight: (value: GgufValue) => boolean): GgufValue[] => {
    const value = field(name);
    return Array.isArray(value) && value.every(isRight) ? value : fail(`no list tokenizer.ggml.${name}`);
  };
  const isText = (value: GgufValue): boolean => typeof value === 'string';
  if (field('model') !== 'gpt2')
    fail(`tokenizer.ggml.model is ${field('model')}, only gpt2 (byte-level BPE) is supported`);
  const pre = String(field('pre') ?? fail('no tokenizer.ggml.pre, which says how text is split'));
  const rule = Object.hasOwn(RULES, pre) ? RULES[pre]! : undefined;
  if (!rule) return fail(`tokenizer.ggml.pre is ${pre}, only ${Object.keys(RULES).join(', ')} are supported`);
  const tokens = list('tokens', isText) as string[];
  const merges = list('merges', isText) as string[];
  const kinds = list('token_type', (value) => typeof value === 'number') as number[];
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
  if (Object.keys(vocab).length !== tokens.length) fail('its vocabulary has a token twice');
  const idOf = (name: string): number | undefined => {
    const id = Number(field(`${name}_token_id`) ?? -1);
    return tokens[id] === undefined ? undefined : id;
  };
  const named = Object.fromEntries(
    Object.entries(SPECIAL_TOKENS).flatMap(([name, own]) =>
      idOf(own) === undefined ? [] : [[name, tokens[idOf(own)!]!]],
    ),
  );
  const added = tokens.flatMap((content, id) => {
    const kind = kinds[id];
    if (kind !== TOKEN.control && kind !== TOKEN.userDefined) return [];
    const plain = { single_word: false, lstrip: false, rstrip: false, normalized: false };
    return [{ id, content, ...plain, special: kind === TOKEN.control }];
  });
  const template = metadata.get('tokenizer.chat_template');
  return {
    tokenizer: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: added,
      normalizer: rule.normalizer ?? null,
      pre_tokenizer: rule.splits,
      post_processor: null,
      decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: rule.wholeWords ?? false,
        vocab,
        merges,
      },
    },
    config: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      clean_up_tokenization_spaces: false,
      ...named,
      ...(typeof template === 'string' && { chat_template: template }),
    },
    endTokens: [...new Set(['eos', 'eot'].flatMap((name) => idOf(name) ?? []))],
  };
}

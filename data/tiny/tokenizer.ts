// The word-level tokenizer of the embedded model, made from the corpus: `tokenizer.json` for Hugging Face libraries and
// a small encoder for the corpus, which agree. Words, operators and integers 0–159 are whole tokens; anything else,
// string literals included, falls apart into characters (BPE without merges), so all printable ASCII survives.

export const PAD = '<pad>';
export const EOS = '<eos>';
const UNKNOWN = '<unk>';
export const SPECIAL_TOKENS: readonly string[] = [
  PAD,
  EOS,
  '<gen>',
  '<disc>',
  '<s1>',
  '<s2>',
  '<s3>',
  '<s4>',
  '<s5>',
  '<tests>',
  UNKNOWN,
];

/**
 * Cuts text into pieces: a string literal, a line's indent, ', ', a spaced operator, a word with the space before it, a
 * run of digits, any other character. It reads the same in Oniguruma (Python) and in JavaScript with the u flag.
 */
export const PIECE_PATTERN = '"[^"\\n]*"|\\n *|, | [^A-Za-z0-9_ \\n"\\[(\\-#]+ | ?[A-Za-z_]+|[0-9]+|[^\\n]';
const WHOLE_INTEGERS = 160;

/** Every printable ASCII character and the line break: what any text falls back to. */
const CHARACTERS = ['\n', ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))];

const specialPattern = new RegExp(`(${SPECIAL_TOKENS.join('|')})`);

/** The pieces of a text outside special tokens, and special tokens whole. */
function* pieces(text: string): Generator<string> {
  for (const section of text.split(specialPattern)) {
    if (SPECIAL_TOKENS.includes(section)) yield section;
    else yield* section.match(new RegExp(PIECE_PATTERN, 'gu')) ?? [];
  }
}

export class TinyVocabulary {
  private readonly ids: Map<string, number>;
  constructor(readonly tokens: readonly string[]) {
    this.ids = new Map(tokens.map((token, id) => [token, id]));
  }
  /** Token ids; a character outside the vocabulary becomes the unknown token. */
  encode(text: string): number[] {
    const out: number[] = [];
    for (const piece of pieces(text)) {
      const id = this.ids.get(piece);
      if (id !== undefined) out.push(id);
      else for (const character of piece) out.push(this.ids.get(character) ?? this.idOf(UNKNOWN));
    }
    return out;
  }
  decode(tokens: readonly number[]): string {
    return tokens.map((id) => this.tokens[id] ?? '').join('');
  }
  idOf(token: string): number {
    const id = this.ids.get(token);
    if (id === undefined) throw new RangeError(`no token ${JSON.stringify(token)}`);
    return id;
  }
}

/** Special tokens, then every piece of `texts` in code point order; string literals and large numbers stay out. */
export function buildVocabulary(texts: Iterable<string>): TinyVocabulary {
  const found = new Set<string>(CHARACTERS);
  for (let i = 0; i < WHOLE_INTEGERS; i++) found.add(`${i}`);
  for (const text of texts) {
    for (const piece of pieces(text)) {
      if (!piece.startsWith('"') && !/^[0-9]/.test(piece)) found.add(piece);
    }
  }
  for (const token of SPECIAL_TOKENS) found.delete(token);
  return new TinyVocabulary([...SPECIAL_TOKENS, ...[...found].sort((a, b) => (a < b ? -1 : 1))]);
}

/** `tokenizer.json` of the Hugging Face tokenizers library. */
export function tokenizerJson(vocabulary: TinyVocabulary): object {
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: SPECIAL_TOKENS.map((content) => ({
      id: vocabulary.idOf(content),
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: { type: 'Split', pattern: { Regex: PIECE_PATTERN }, behavior: 'Isolated', invert: false },
    post_processor: null,
    decoder: { type: 'Fuse' },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: UNKNOWN,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: true,
      vocab: Object.fromEntries(vocabulary.tokens.map((token, id) => [token, id])),
      merges: [],
    },
  };
}

/** Contents follow each other as they are; each answer is closed by the end token. */
export const CHAT_TEMPLATE =
  "{% for message in messages %}{{ message['content'] }}{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}";

export function tokenizerConfig(contextLength: number): object {
  return {
    tokenizer_class: 'PreTrainedTokenizerFast',
    clean_up_tokenization_spaces: false,
    eos_token: EOS,
    pad_token: PAD,
    unk_token: UNKNOWN,
    additional_special_tokens: SPECIAL_TOKENS.filter((token) => ![PAD, EOS, UNKNOWN].includes(token)),
    model_max_length: contextLength,
    padding_side: 'right',
    chat_template: CHAT_TEMPLATE,
  };
}

// Builds the vocabulary of a word-level tokenizer like that of the shipped models from texts, and encodes text for training. Words, operators and the integers 0–159 are tokens. All other text,
// including string literals, is split into characters (BPE without merges).

const PAD = '<pad>';
export const EOS = '<eos>';
const UNKNOWN = '<unk>';
const SPECIAL_TOKENS: readonly string[] = [
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
 * Splits text into string literals, indents, ', ', operators with spaces, words with the space before them, runs of digits
 * and other characters. The pattern means the same in Oniguruma (Python) and in JavaScript with the u flag.
 */
const PIECE_PATTERN = '"[^"\\n]*"|\\n *|, | [^A-Za-z0-9_ \\n"\\[(\\-#]+ | ?[A-Za-z_]+|[0-9]+|[^\\n]';
const WHOLE_INTEGERS = 160;

/** Printable ASCII and the line break. Unknown text is split into these characters. */
const CHARACTERS = ['\n', ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))];

const specialPattern = new RegExp(`(${SPECIAL_TOKENS.join('|')})`);

/** Splits text into special tokens and the pieces between them. */
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
  /** Encodes text. A character outside the vocabulary becomes the unknown token. */
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
    if (id === undefined) throw new RangeError(`the vocabulary has no token ${JSON.stringify(token)}`);
    return id;
  }
}

/** A sequence and its loss mask, which is 1 on trained tokens. */
export interface TrainingRow {
  tokens: number[];
  mask: number[];
}

/** Encodes a user turn and its answer. The answer and the end token after it are trained. */
export function encodeExample(vocabulary: TinyVocabulary, user: string, answer: string): TrainingRow {
  const given = vocabulary.encode(user);
  const trained = [...vocabulary.encode(answer), vocabulary.idOf(EOS)];
  return { tokens: [...given, ...trained], mask: [...given.map(() => 0), ...trained.map(() => 1)] };
}

/** The vocabulary: special tokens, then every piece of `texts` by code point, except string literals and large numbers. */
export function buildVocabulary(texts: Iterable<string>, wholeIntegers = WHOLE_INTEGERS): TinyVocabulary {
  const found = new Set<string>(CHARACTERS);
  for (let i = 0; i < wholeIntegers; i++) found.add(`${i}`);
  for (const text of texts) {
    for (const piece of pieces(text)) {
      if (!piece.startsWith('"') && !/^[0-9]/.test(piece)) found.add(piece);
    }
  }
  for (const token of SPECIAL_TOKENS) found.delete(token);
  return new TinyVocabulary([...SPECIAL_TOKENS, ...[...found].sort((a, b) => (a < b ? -1 : 1))]);
}

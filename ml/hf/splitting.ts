// How tokenizer.json splits text into words. The library differs in three rules from the original in Rust; these rules are
// rewritten before the library sees them. All three occur in SmolLM2.

/** @param rule the field `pre_tokenizer` of tokenizer.json @param model its field `model` */
export const exactSplitting = (rule: unknown, model: Record<string, unknown>): unknown =>
  withoutMissingBytes(exactRules(rule), model);

const WORDS = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"; // the expression of GPT-2
const splitAt = (regex: string) => ({ type: 'Split', pattern: { Regex: regex }, behavior: 'Isolated', invert: false });

/**
 * The library splits at ASCII digits only, and its blanks are those of JavaScript, with U+FEFF and without U+0085. Written as
 * patterns, both rules are exact.
 */
function exactRules(rule: unknown): unknown {
  if (typeof rule !== 'object' || rule === null) return null;
  const { type, pretokenizers, individual_digits, use_regex, add_prefix_space } = rule as Record<string, unknown>;
  if (type === 'Sequence' && Array.isArray(pretokenizers))
    return { ...rule, pretokenizers: pretokenizers.map(exactRules) };
  if (type === 'Digits') return splitAt(individual_digits ? '\\p{N}' : '\\p{N}+');
  if (type !== 'ByteLevel' || use_regex === false || add_prefix_space) return rule;
  return { type: 'Sequence', pretokenizers: [splitAt(WORDS), { ...rule, use_regex: false }] };
}

/** The characters that stand for bytes in byte-level BPE: a printable one stands for itself, characters from U+0100 for the others. */
function byteCharacters(): string[] {
  const isPrintable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : next++));
}

const codePoint = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Drops bytes that the vocabulary lacks before their neighbours are merged, as in the original. */
function withoutMissingBytes(rule: unknown, { vocab, unk_token }: Record<string, unknown>): unknown {
  if (!JSON.stringify(rule).includes('"ByteLevel"') || typeof vocab !== 'object' || unk_token) return rule;
  const missing = byteCharacters().filter((character) => !Object.hasOwn(vocab as object, character));
  if (missing.length === 0) return rule;
  const drop = { type: 'Replace', pattern: { Regex: `[${missing.map(codePoint).join('')}]` }, content: '' };
  return { type: 'Sequence', pretokenizers: [rule, drop] };
}

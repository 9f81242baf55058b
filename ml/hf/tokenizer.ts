// Text to token ids and back, as tokenizer.json says. This wrapper keeps spaces and special tokens, and turns the
// library's failures into readable errors.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { GauntletError } from '../../core/errors.js';
import { type AddedToken, ControlTokens, isControl } from './controlTokens.js';

export interface TextTokenizer {
  /** Control tokens in the text (`<|im_end|>`) become their ids. No token is added. */
  encode(text: string): number[];
  /** Text that stays text in `encodeProtected`, whatever it spells. */
  protect(text: string): string;
  /** Like `encode`, but control tokens that protected text spells are encoded as ordinary text. */
  encodeProtected(text: string): number[];
  /** Keeps special tokens. An id outside the vocabulary becomes the unknown token. */
  decode(tokens: number[]): string;
  /** The id of one token of the vocabulary. */
  tokenId(token: string): number | undefined;
  /** The content of tokenizer_config.json; {} if there is none. */
  readonly config: Record<string, unknown>;
}

/** @throws {GauntletError} BAD_MODEL if the folder has no tokenizer.json or an unusable one */
export function loadTokenizer(folder: string): TextTokenizer {
  const path = join(folder, 'tokenizer.json');
  if (!existsSync(path))
    throw new GauntletError('BAD_MODEL', `${folder}: no tokenizer.json; this model cannot be used with text`);
  const configPath = join(folder, 'tokenizer_config.json');
  return makeTokenizer(readJson(path), existsSync(configPath) ? readJson(configPath) : {}, path);
}

/** From parsed files. @throws {GauntletError} BAD_MODEL, naming `where` */
export function makeTokenizer(
  json: Record<string, unknown>,
  config: Record<string, unknown>,
  where = 'tokenizer.json',
): TextTokenizer {
  const added = (json.added_tokens ?? []) as AddedToken[];
  const open = (addedTokens: readonly AddedToken[]): Tokenizer => {
    try {
      const model = json.model as Record<string, unknown>;
      // The library requires keys that the format makes optional. A word-level model has its unknown token in `model`.
      const optional = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };
      const full = {
        ...optional,
        ...json,
        pre_tokenizer: withoutMissingBytes(exactRules(json.pre_tokenizer), model),
        added_tokens: addedTokens,
      };
      return new Tokenizer(full, { ...config, unk_token: model.unk_token ?? config.unk_token });
    } catch (cause) {
      throw new GauntletError('BAD_MODEL', `${where}: not a usable tokenizer (${(cause as Error).message})`, { cause });
    }
  };
  const tokenizer = open(added);
  const control = new ControlTokens(added);
  let plain: Tokenizer | undefined; // knows no control token; opened when a text spells one
  const encodeWith = (used: Tokenizer, text: string): number[] => {
    const ids: (number | undefined)[] = used.encode(text, { add_special_tokens: false }).ids;
    const bad = ids.indexOf(undefined);
    if (bad >= 0)
      throw new GauntletError(
        'BAD_INPUT',
        `${where}: no token for part ${bad} of ${JSON.stringify(text.slice(0, 80))}`,
      );
    return ids as number[];
  };
  return {
    config,
    encode: (text) => encodeWith(tokenizer, text),
    protect: (text) => control.protect(text),
    encodeProtected(text) {
      const parts = control.split(text);
      if (!parts) return encodeWith(tokenizer, text);
      plain ??= open(added.filter((token) => !isControl(token)));
      return parts.flatMap((part) => encodeWith(part.isControl ? tokenizer : plain!, part.text));
    },
    decode: (tokens) =>
      tokens.length === 0
        ? ''
        : tokenizer.decode(tokens, { skip_special_tokens: false, clean_up_tokenization_spaces: false }),
    tokenId: (token) => tokenizer.token_to_id(token),
  };
}

const WORDS = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"; // of GPT-2
const splitAt = (regex: string) => ({ type: 'Split', pattern: { Regex: regex }, behavior: 'Isolated', invert: false });

/**
 * Two rules of the library differ from the original: digits are ASCII digits only, and blanks are those of JavaScript (with
 * U+FEFF, without U+0085). SmolLM2 has both rules. Written as patterns they are exact.
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

/** The characters that stand for bytes in byte-level BPE: printable ones for themselves, the others from U+0100 on. */
function byteCharacters(): string[] {
  const isPrintable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : next++));
}

const codePoint = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Bytes that the vocabulary lacks vanish, as in the original, before their neighbours are merged. SmolLM2 lacks some. */
function withoutMissingBytes(rule: unknown, { vocab, unk_token }: Record<string, unknown>): unknown {
  if (!JSON.stringify(rule).includes('"ByteLevel"') || typeof vocab !== 'object' || unk_token) return rule;
  const missing = byteCharacters().filter((character) => !Object.hasOwn(vocab as object, character));
  if (missing.length === 0) return rule;
  const drop = { type: 'Replace', pattern: { Regex: `[${missing.map(codePoint).join('')}]` }, content: '' };
  return { type: 'Sequence', pretokenizers: [rule, drop] };
}

/** @throws {GauntletError} BAD_MODEL if the file is not a JSON object */
export function readJson(path: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (cause) {
    throw new GauntletError(
      'BAD_MODEL',
      `${path}: ${(cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'not found' : 'not JSON'}`,
      { cause },
    );
  }
  throw new GauntletError('BAD_MODEL', `${path}: not a JSON object`);
}

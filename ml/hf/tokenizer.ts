// Text to token ids and back, as tokenizer.json says. This wrapper keeps spaces and special tokens, and turns the
// library's failures into readable errors.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { GauntletError } from '../../core/errors.js';
import { type AddedToken, ControlTokens, isControl } from './controlTokens.js';
import { exactSplitting } from './splitting.js';

export interface TextTokenizer {
  /** Control tokens in the text (`<|im_end|>`) become their ids. No token is added. */
  encode(text: string): number[];
  /** Text that stays text in `encodeProtected`, whatever it spells. */
  protect(text: string): string;
  /** Like `encode`, but control tokens that protected text spells are encoded as ordinary text. */
  encodeProtected(text: string): number[];
  /** Protected text of sampled tokens. The control tokens among them stay control tokens. */
  protectSampled(tokens: number[]): string;
  /** True for a token that text cannot spell once it is protected, like `<|im_end|>`. */
  isControl(token: number): boolean;
  /** Keeps special tokens. An id outside the vocabulary becomes the unknown token. */
  decode(tokens: number[]): string;
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
  const added = (json.added_tokens ?? []) as (AddedToken & { id: number })[];
  const open = (addedTokens: readonly AddedToken[]): Tokenizer => {
    try {
      const model = json.model as Record<string, unknown>;
      // The library requires keys that the format makes optional. A word-level model has its unknown token in `model`.
      const optional = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };
      const full = {
        ...optional,
        ...json,
        pre_tokenizer: exactSplitting(json.pre_tokenizer, model),
        added_tokens: addedTokens,
      };
      return new Tokenizer(full, { ...config, unk_token: model.unk_token ?? config.unk_token });
    } catch (cause) {
      throw new GauntletError('BAD_MODEL', `${where}: not a usable tokenizer (${(cause as Error).message})`, { cause });
    }
  };
  const tokenizer = open(added);
  const control = new ControlTokens(added);
  const controlOf = new Map(added.filter(isControl).map(({ id, content }) => [id, content]));
  const decode = (tokens: number[]): string =>
    tokens.length === 0
      ? ''
      : tokenizer.decode(tokens, { skip_special_tokens: false, clean_up_tokenization_spaces: false });
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
    protectSampled(tokens) {
      const ends = tokens.flatMap((id, i) => (controlOf.has(id) ? [i] : []));
      return [...ends, tokens.length]
        .map((end, i) => {
          const text = control.protect(decode(tokens.slice(i === 0 ? 0 : ends[i - 1]! + 1, end)));
          return text + (controlOf.get(tokens[end]!) ?? '');
        })
        .join('');
    },
    isControl: (token) => controlOf.has(token),
    decode,
  };
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

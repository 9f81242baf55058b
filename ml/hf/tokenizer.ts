// Text to token ids and back, as tokenizer.json says. A thin wrapper: it makes the library lossless (no clean-up of
// spaces, special tokens kept) and its failures readable.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { GauntletError } from '../../core/errors.js';

export interface TextTokenizer {
  /** Special tokens written in the text (`<|im_end|>`) become their own ids; nothing is added. */
  encode(text: string): number[];
  /** Special tokens are kept. An id outside the vocabulary becomes the unknown token. */
  decode(tokens: number[]): string;
  /** Id of one token as written in the vocabulary. */
  tokenId(token: string): number | undefined;
  /** tokenizer_config.json, {} where there is none. */
  readonly config: Record<string, unknown>;
}

/** @throws {GauntletError} BAD_MODEL where the folder has no tokenizer.json, or one that cannot be used */
export function loadTokenizer(folder: string): TextTokenizer {
  const path = join(folder, 'tokenizer.json');
  if (!existsSync(path))
    throw new GauntletError('BAD_MODEL', `${folder}: no tokenizer.json, so text cannot be used with this model`);
  const configPath = join(folder, 'tokenizer_config.json');
  return makeTokenizer(readJson(path), existsSync(configPath) ? readJson(configPath) : {}, path);
}

/** From parsed files. @throws {GauntletError} BAD_MODEL, naming `where` */
export function makeTokenizer(
  json: Record<string, unknown>,
  config: Record<string, unknown>,
  where = 'tokenizer.json',
): TextTokenizer {
  let tokenizer: Tokenizer;
  try {
    const model = json.model as Record<string, unknown>;
    // Keys that the format makes optional and the library does not; a word-level model keeps its unknown token in `model`.
    const full = {
      added_tokens: [],
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
      decoder: null,
      ...json,
    };
    tokenizer = new Tokenizer(full, { ...config, unk_token: model.unk_token ?? config.unk_token });
  } catch (cause) {
    throw new GauntletError('BAD_MODEL', `${where}: not a usable tokenizer (${(cause as Error).message})`, { cause });
  }
  return {
    config,
    encode(text) {
      const ids: (number | undefined)[] = tokenizer.encode(text, { add_special_tokens: false }).ids;
      const bad = ids.indexOf(undefined);
      if (bad >= 0)
        throw new GauntletError(
          'BAD_INPUT',
          `${where}: no token for part ${bad} of ${JSON.stringify(text.slice(0, 80))}`,
        );
      return ids as number[];
    },
    decode: (tokens) =>
      tokens.length === 0
        ? ''
        : tokenizer.decode(tokens, { skip_special_tokens: false, clean_up_tokenization_spaces: false }),
    tokenId: (token) => tokenizer.token_to_id(token),
  };
}

/** @throws {GauntletError} BAD_MODEL where it is no JSON object */
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

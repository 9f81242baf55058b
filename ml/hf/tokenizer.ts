// Turns text into token ids and back, as tokenizer.json says. This wrapper keeps spaces and special tokens, and turns the
// library's failures into readable errors.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { GauntletError } from '../../core/base/errors.js';
import { isTooDeep, overflowOf } from '../../core/base/nesting.js';
import { type AddedToken, ControlTokens, isControl } from './controlTokens.js';
import { readText } from './files.js';
import { exactSplitting } from './splitting.js';
import { addedTokens, checkRules, inTime, literalRules, RuleBudget, TooSlow } from './tokenizerLimits.js';

export interface TextTokenizer {
  /** Control tokens in the text (`<|im_end|>`) become their ids. No token is added. */
  encode(text: string): number[];
  /** Marks text, so that it stays text in `encodeProtected`, whatever it spells. */
  protect(text: string): string;
  /** Like `encode`, but control tokens that protected text spells are encoded as ordinary text. */
  encodeProtected(text: string): number[];
  /** The protected text of sampled tokens. The control tokens among them stay control tokens. */
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

/** The most characters of one text: more than any model's context holds. */
const MAX_CHARACTERS = 1 << 22;

type Trie = { [unit: string]: Trie | undefined };
type Library = Record<`splitter_${'' | 'un'}normalized`, { trie: Trie }> & { added_tokens_map: Map<unknown, unknown> };

const NO_MODEL = { type: 'BPE', vocab: {}, merges: [] };

/** Makes a tokenizer from parsed files. @throws {GauntletError} BAD_MODEL, naming `where` */
export function makeTokenizer(
  json: Record<string, unknown>,
  config: Record<string, unknown>,
  where = 'tokenizer.json',
): TextTokenizer {
  const unusable = (cause: unknown): GauntletError =>
    new GauntletError('BAD_MODEL', `${where}: not a usable tokenizer (${(cause as Error).message})`, { cause });
  /** Runs `work` with a time limit. Every call that runs the rules of the folder goes through this. */
  const withLimits = <T>(characters: number, work: () => T): T => {
    if (tooSlow) throw tooSlow; // a worker that answers late is counted as lost, and its work is tried again
    try {
      return inTime(characters, () => {
        budget.start(characters);
        return work();
      });
    } catch (error) {
      if (error instanceof GauntletError) throw error;
      if (error instanceof TooSlow) tooSlow = unusable(error);
      throw tooSlow ?? unusable(error);
    }
  };
  let tooSlow: GauntletError | undefined;
  const budget = new RuleBudget();
  const open = (addedTokens: readonly AddedToken[]): Tokenizer => {
    const model = json.model as Record<string, unknown>;
    // The library requires keys that the format makes optional. A word-level model has its unknown token in `model`.
    // Post-processors only add special tokens, which the chat template writes.
    const rules = literalRules({ normalizer: null, pre_tokenizer: null, decoder: null, ...json });
    const splitting = exactSplitting(rules.pre_tokenizer, model);
    const full = { ...rules, post_processor: null, pre_tokenizer: splitting, added_tokens: addedTokens };
    // The constructor normalizes added tokens before its rules have limits, so they are normalized here first.
    const { normalizer } = budget.metered(new Tokenizer({ ...full, model: NO_MODEL, added_tokens: [] }, {}));
    withLimits(0, () => {
      for (const { content } of addedTokens) normalizer?.normalize(content);
    });
    const opened = budget.metered(new Tokenizer(full, { ...config, unk_token: model.unk_token ?? config.unk_token }));
    // A token that is found becomes an object. So text that spells the token, perhaps once normalized, is not read as the token.
    const { added_tokens_map: read, splitter_normalized, splitter_unnormalized } = opened as unknown as Library;
    for (const [text, token] of [...read] as [string, unknown][]) {
      read.delete(text);
      for (const { trie } of [splitter_normalized, splitter_unnormalized]) {
        const node = text.split('').reduce<Trie | undefined>((at, unit) => at?.[unit], trie) as { end?: unknown };
        if (node?.end !== text) continue;
        const found = { length: text.length, trimStart: () => found, trimEnd: () => found };
        node.end = found;
        read.set(found, token);
      }
    }
    return opened;
  };
  let added: (AddedToken & { id: number })[];
  let tokenizer: Tokenizer;
  try {
    checkRules(json, config);
    added = addedTokens(json.added_tokens);
    tokenizer = open(added);
  } catch (error) {
    throw error instanceof GauntletError ? error : unusable(error);
  }
  const control = new ControlTokens(added);
  const controlOf = new Map(added.filter(isControl).map(({ id, content }) => [id, content]));
  const plainly = { skip_special_tokens: false, clean_up_tokenization_spaces: false };
  const decode = (tokens: number[]): string => (tokens.length === 0 ? '' : tokenizer.decode(tokens, plainly));
  let plain: Tokenizer | undefined; // knows no control token; opened when the first text spells one
  const encodeWith = (used: Tokenizer, text: string): number[] => {
    const ids: (number | undefined)[] = used.encode(text, { add_special_tokens: false }).ids;
    const bad = ids.indexOf(undefined);
    if (bad < 0) return ids as number[];
    throw new GauntletError('BAD_INPUT', `${where}: no token for part ${bad} of ${JSON.stringify(text.slice(0, 80))}`);
  };
  const withText = <T>(text: string, work: () => T): T => {
    if (text.length <= MAX_CHARACTERS) return withLimits(text.length, work);
    const size = `a text of ${text.length} characters`;
    throw new GauntletError('BAD_INPUT', `${size} cannot be turned into tokens, at most ${MAX_CHARACTERS} can`);
  };
  return {
    config,
    encode: (text) => withText(text, () => encodeWith(tokenizer, text)),
    protect: (text) => withText(text, () => control.protect(text)),
    encodeProtected(text) {
      const parts = withText(text, () => control.split(text));
      if (parts) plain ??= open(added.filter((token) => !isControl(token)));
      return withText(text, () => {
        if (!parts) return encodeWith(tokenizer, text);
        return parts.flatMap((part) => encodeWith(part.isControl ? tokenizer : plain!, part.text));
      });
    },
    protectSampled: (tokens) =>
      withLimits(tokens.length, () => {
        const ends = tokens.flatMap((id, i) => (controlOf.has(id) ? [i] : []));
        return [...ends, tokens.length]
          .map((end, i) => {
            const text = control.protect(decode(tokens.slice(i === 0 ? 0 : ends[i - 1]! + 1, end)));
            return text + (controlOf.get(tokens[end]!) ?? '');
          })
          .join('');
      }),
    isControl: (token) => controlOf.has(token),
    decode: (tokens) => withLimits(tokens.length, () => decode(tokens)),
  };
}

/** @throws {GauntletError} BAD_MODEL if the file is not a JSON object */
export function readJson(path: string): Record<string, unknown> {
  const fail = (what: string, cause?: unknown): never => {
    throw new GauntletError('BAD_MODEL', `${path}: ${what}`, { cause });
  };
  const text = readText(path);
  const overflow = overflowOf(text);
  if (overflow !== undefined) fail(overflow);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    fail('not JSON'); // the parser's message would repeat what the file holds
  }
  if (isTooDeep(value)) fail('nested too deep');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) fail('not a JSON object');
  return value as Record<string, unknown>;
}

// Limits for an untrusted tokenizer.json, which brings regular expressions and rules that rewrite text. Rules are counted, and
// what they write. The work of a regular expression cannot be counted and may be exponential, so time has a limit, too.
import { createContext, Script } from 'node:vm';
import type { Tokenizer } from '@huggingface/tokenizers';
import type { AddedToken } from './controlTokens.js';

/** These limits are far above every published tokenizer: Gemma has 6 400 added tokens, and 580 000 merges of pairs. */
const MOST = {
  added: 1 << 14, // added tokens
  content: 1024, // characters that one rule or one added token writes
  contents: 1 << 18, // characters of all added tokens together
  rules: 256,
  pieces: 1 << 21, // pieces of the vocabulary; merges have the same limit
  unigram: 1 << 22, // characters of a vocabulary with scores: each becomes a node
};

/** Seconds for one text, plus seconds per million characters. Ordinary tokenizers take a second per million. */
const SECONDS = 5;
const PER_MILLION = 20;
/** A process that was stopped, or a machine that slept, looks the same as an endless rule, but only once. */
const ATTEMPTS = 2;

export class TooSlow extends Error {}

const context = createContext({ work: undefined as (() => unknown) | undefined });
const script = new Script('work()');

/**
 * Runs `work`, perhaps twice, and ends it when it takes too long, even within a regular expression.
 * @throws TooSlow
 */
export function inTime<T>(characters: number, work: () => T): T {
  const seconds = Math.ceil(SECONDS + (PER_MILLION * characters) / 1e6);
  for (let attempt = 1; ; attempt++) {
    context.work = work;
    try {
      return script.runInContext(context, { timeout: 1000 * seconds }) as T;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      if (attempt < ATTEMPTS) continue;
      throw new TooSlow(`its rules take more than ${seconds} seconds for a text of ${characters} characters`);
    } finally {
      context.work = undefined;
    }
  }
}

/** The added tokens of tokenizer.json. @throws Error naming the first one that cannot be used */
export function addedTokens(given: unknown): (AddedToken & { id: number })[] {
  const tokens = given ?? [];
  if (!Array.isArray(tokens)) throw new Error('added_tokens must be a list');
  if (tokens.length > MOST.added) throw new Error(`it has ${tokens.length} added tokens, at most ${MOST.added}`);
  let characters = 0;
  for (const [i, token] of tokens.entries()) {
    const { id, content } = (token ?? {}) as Record<string, unknown>;
    if (typeof content !== 'string') throw new Error(`added_tokens[${i}].content must be a text`);
    if (content.length > MOST.content) throw new Error(`added_tokens[${i}].content is longer than ${MOST.content}`);
    if (!isId(id)) throw new Error(`added_tokens[${i}].id must be a token id`);
    for (const flag of ['lstrip', 'rstrip', 'special', 'normalized', 'single_word'])
      if (!['boolean', 'undefined'].includes(typeof (token[flag] ?? undefined)))
        throw new Error(`added_tokens[${i}].${flag} must be true or false`);
    if (token.single_word) throw new Error(`added_tokens[${i}].single_word is not supported`);
    characters += content.length;
  }
  if (characters > MOST.contents) throw new Error(`its added tokens have more than ${MOST.contents} characters`);
  return tokens;
}

const isId = (id: unknown): boolean => Number.isSafeInteger(id) && (id as number) >= 0 && (id as number) < 2 ** 31;

/** Refuses rules whose cost cannot be counted while they run. @throws Error naming the rule */
export function checkRules(json: Record<string, unknown>, config: Record<string, unknown>): void {
  let rules = 0;
  const visit = (rule: unknown, path: string): void => {
    if (typeof rule !== 'object' || rule === null) return;
    if (++rules > MOST.rules) throw new Error(`it has more than ${MOST.rules} rules`);
    for (const [field, value] of Object.entries(rule)) {
      if (Array.isArray(value)) for (const [i, inner] of value.entries()) visit(inner, `${path}.${field}[${i}]`);
      else if (WRITES.has(field)) {
        if ((value ?? '') !== '' && typeof value !== 'string') throw new Error(`${path}.${field} must be a text`);
        if (String(value ?? '').length > MOST.content)
          throw new Error(`${path}.${field} is longer than ${MOST.content}`);
      }
    }
    const { type, length, replacement, str_rep } = rule as Record<string, unknown>;
    if (type === 'Metaspace' && `${replacement ?? ''}${str_rep ?? ''}`.includes('$'))
      throw new Error(`${path}.replacement must not contain $`);
    if (type === 'FixedLength' && !(Number.isSafeInteger(length) && (length as number) > 0))
      throw new Error(`${path}.length must be a positive integer`);
  };
  for (const field of RULES) visit(json[field], field);
  checkModel(json.model);
  const { additional_special_tokens: special } = config;
  if (Array.isArray(special) && special.length > MOST.added)
    throw new Error(`it has ${special.length} additional_special_tokens, at most ${MOST.added}`);
}

/** The rules as the original reads them: in what they write, `$` is an ordinary character. */
export function literalRules(json: Record<string, unknown>): Record<string, unknown> {
  const literal = (rule: unknown): unknown => {
    if (typeof rule !== 'object' || rule === null) return rule;
    if (Array.isArray(rule)) return rule.map(literal);
    const { type, content } = rule as Record<string, unknown>;
    if (type === 'Replace' && typeof content === 'string') return { ...rule, content: content.replaceAll('$', '$$$$') };
    const lists = Object.entries(rule).filter(([, value]) => Array.isArray(value));
    return { ...rule, ...Object.fromEntries(lists.map(([field, value]) => [field, literal(value)])) };
  };
  const rules = Object.entries(json).filter(([field]) => RULES.includes(field));
  return { ...json, ...Object.fromEntries(rules.map(([field, rule]) => [field, literal(rule)])) };
}

const RULES = ['normalizer', 'pre_tokenizer', 'decoder'];

/** Fields with text that a rule writes. */
const WRITES = new Set(['content', 'prepend', 'replacement', 'str_rep', 'suffix', 'prefix', 'word_delimiter_token']);

function checkModel(model: unknown): void {
  if (typeof model !== 'object' || model === null) throw new Error('field model is missing');
  const { vocab, merges } = model as Record<string, unknown>;
  if (typeof vocab !== 'object' || vocab === null) throw new Error('field model.vocab is missing');
  const scored = Array.isArray(vocab);
  const pieces: unknown[] = scored ? vocab : Object.values(vocab);
  const merged = Array.isArray(merges) ? merges.length : 0;
  if (pieces.length + merged > 2 * MOST.pieces) throw new Error(`its vocabulary has more than ${MOST.pieces} pieces`);
  if (!scored) {
    if (!pieces.every(isId)) throw new Error('field model.vocab must map every piece to its id');
    return;
  }
  let characters = 0;
  for (const piece of pieces) {
    const [text, score] = Array.isArray(piece) ? piece : [];
    if (typeof text !== 'string' || typeof score !== 'number')
      throw new Error('field model.vocab must list [text, score]');
    characters += text.length;
  }
  if (characters > MOST.unigram) throw new Error(`its vocabulary has more than ${MOST.unigram} characters`);
}

/** All rules together may write this many characters for one text, plus this many per character of the text. */
const ALWAYS = 1 << 22;
const PER_CHARACTER = 256;
const NODE = 16; // units that a piece of a scored vocabulary costs besides its length where the text may continue with it

interface Rule {
  normalizers?: Rule[];
  tokenizers?: Rule[];
  decoders?: Rule[];
  normalize?(text: string): string;
  pre_tokenize_text?(text: string, options: unknown): string[];
  decode_chain?(tokens: string[]): string[];
}

/** Counts what the rules of a tokenizer write, before the next rule reads it. */
export class RuleBudget {
  private left = 0;

  start(characters: number): void {
    this.left = ALWAYS + PER_CHARACTER * characters;
  }

  /** The same tokenizer, whose rules are counted. */
  metered(tokenizer: Tokenizer): Tokenizer {
    const { normalizer, pre_tokenizer, decoder, model } = tokenizer as unknown as Record<string, Rule | null>;
    for (const rule of [normalizer, pre_tokenizer, decoder]) this.meter(rule);
    const { trie } = (model ?? {}) as { trie?: { common_prefix_search(...given: unknown[]): Iterable<string> } };
    if (trie) {
      const search = trie.common_prefix_search.bind(trie);
      const spend = (found: string): void => this.spend(NODE + found.length);
      trie.common_prefix_search = function* (...given) {
        for (const found of search(...given)) {
          spend(found);
          yield found;
        }
      };
    }
    return tokenizer;
  }

  private meter(rule: Rule | null | undefined): void {
    if (!rule) return;
    for (const inner of [...(rule.normalizers ?? []), ...(rule.tokenizers ?? []), ...(rule.decoders ?? [])])
      this.meter(inner);
    const { normalize, pre_tokenize_text: split, decode_chain: chain } = rule;
    if (normalize)
      rule.normalize = (text) => {
        const out = normalize.call(rule, text);
        this.spend(out.length);
        return out;
      };
    if (split) rule.pre_tokenize_text = (text, options) => this.counted(split.call(rule, text, options));
    if (chain) rule.decode_chain = (tokens) => this.counted(chain.call(rule, tokens));
  }

  private counted(texts: string[]): string[] {
    for (const text of texts) this.spend(1 + text.length);
    return texts;
  }

  private spend(units: number): void {
    this.left -= units;
    if (this.left < 0) throw new Error('its rules write far more text than they read');
  }
}

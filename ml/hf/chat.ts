// Conversations as tokens, with the model's own chat template. A chain is append-only: the opening, then after each answer
// the tokens that the template puts between two answers. Earlier tokens are never encoded again.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../core/errors.js';
import type { Content } from '../../core/prompts/prompts.js';
import { ModelTemplate } from './template.js';
import type { TextTokenizer } from './tokenizer.js';

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: Content;
}

const ANSWER = '\u2402answer\u2403'; // stands for the answer while the template is rendered

const CACHED = 256;

export class ChatFormat {
  private readonly template: ModelTemplate;
  private readonly continuations = new Map<string, number[]>(); // cached: rendering takes a millisecond, and turns repeat

  /** @param source the template's Jinja text. @throws {GauntletError} BAD_MODEL if it does not parse */
  constructor(
    source: string,
    private readonly tokenizer: TextTokenizer,
    private readonly where = 'chat template',
  ) {
    try {
      this.template = new ModelTemplate(source);
    } catch (cause) {
      throw new GauntletError('BAD_MODEL', `${where}: ${(cause as Error).message}`, { cause });
    }
  }

  /** The tokens of the opening messages, up to the start of the assistant's answer. */
  openingTokens(messages: ChatMessage[]): number[] {
    return this.tokenizer.encodeProtected(this.render(messages));
  }

  /**
   * The tokens between an answer and the next one, for one more user message. The template starts them with an end token,
   * which is left out if the answer ended with it.
   * @param endToken the token that ended the answer; undefined if the answer was truncated
   * @throws {GauntletError} BAD_MODEL if the template does not render answers
   */
  continuationTokens(content: Content, endToken?: number): number[] {
    const key = JSON.stringify(content);
    const known = this.continuations.get(key) ?? this.afterAnswer(content);
    if (this.continuations.size >= CACHED) this.continuations.clear();
    this.continuations.set(key, known);
    return known.slice(known[0] === endToken ? 1 : 0);
  }

  /** The tokens from the end of an answer, its end token included, to the start of the next answer. */
  private afterAnswer(content: Content): number[] {
    const text = this.render([
      { role: 'user', content: 'question' },
      { role: 'assistant', content: ANSWER },
      { role: 'user', content },
    ]);
    const at = text.indexOf(ANSWER);
    if (at < 0)
      throw new GauntletError('BAD_MODEL', `${this.where}: the template does not render the assistant's answer`);
    return this.tokenizer.encodeProtected(text.slice(at + ANSWER.length));
  }

  private render(chat: ChatMessage[]): string {
    const messages = chat.map(({ role, content }) => ({ role, content: this.written(content) }));
    const { bos_token, eos_token, pad_token, unk_token } = this.tokenizer.config;
    const special = Object.entries({ bos_token, eos_token, pad_token, unk_token }).map(([k, v]) => [k, tokenText(v)]);
    try {
      return this.template.render({ ...Object.fromEntries(special), messages, add_generation_prompt: true });
    } catch (cause) {
      throw new GauntletError('BAD_MODEL', `${this.where}: ${(cause as Error).message}`, { cause });
    }
  }

  private written(content: Content): string {
    const parts = typeof content === 'string' ? [content] : content;
    return parts.map((part) => (typeof part === 'string' ? this.tokenizer.protect(part) : part.control)).join('');
  }
}

/** Reads chat_template.jinja, else tokenizer_config.json. @throws {GauntletError} BAD_MODEL if there is no template */
export function loadChatFormat(folder: string, tokenizer: TextTokenizer): ChatFormat {
  const path = join(folder, 'chat_template.jinja');
  const isOwnFile = existsSync(path);
  const source = isOwnFile ? readFileSync(path, 'utf8') : defaultTemplate(tokenizer.config.chat_template);
  if (source === undefined)
    throw new GauntletError('BAD_MODEL', `${folder}: no chat_template in tokenizer_config.json`);
  return new ChatFormat(
    source,
    tokenizer,
    `${isOwnFile ? path : join(folder, 'tokenizer_config.json')}: chat template`,
  );
}

/** The field is a text, or a list of named templates; then this is the one named `default`. */
function defaultTemplate(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return undefined;
  return value.find((t: { name?: unknown }) => t?.name === 'default')?.template;
}

/** A special token of tokenizer_config.json is a text or an object with `content`. */
function tokenText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? String((value as { content?: unknown }).content ?? '') : '';
}

// Conversations as tokens, by the model's own chat template. A chain is append-only: an opening, then after each answer
// the tokens that the template puts between an answer and the next one, so that no earlier token is ever re-encoded.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../core/errors.js';
import { ModelTemplate } from './template.js';
import type { TextTokenizer } from './tokenizer.js';

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

const ANSWER = '\u2402answer\u2403'; // stands for an answer while the template is rendered; never tokenised

const REMEMBERED = 256;

export class ChatFormat {
  private readonly template: ModelTemplate;
  private readonly continuations = new Map<string, number[]>(); // rendering takes a millisecond, turns repeat

  /** @param source the Jinja text of the template. @throws {GauntletError} BAD_MODEL where it does not parse */
  constructor(
    source: string,
    private readonly tokenizer: TextTokenizer,
    private readonly eosTokens: readonly number[],
    private readonly where = 'chat template',
  ) {
    try {
      this.template = new ModelTemplate(source);
    } catch (cause) {
      throw new GauntletError('BAD_MODEL', `${where}: ${(cause as Error).message}`, { cause });
    }
  }

  /** Tokens of the opening of a conversation up to where the assistant begins to answer. */
  openingTokens(messages: ChatMessage[]): number[] {
    return this.tokenizer.encode(this.render(messages));
  }

  /**
   * Tokens between an answer and the next one, for one more user turn. The template ends an answer with its end token:
   * where the answer already ended (`previousFinished`), that one is left out.
   * @throws {GauntletError} BAD_MODEL where the template does not show answers
   */
  continuationTokens(content: string, previousFinished: boolean): number[] {
    const known = this.continuations.get(content) ?? this.afterAnswer(content);
    if (this.continuations.size >= REMEMBERED) this.continuations.clear();
    this.continuations.set(content, known);
    return known.slice(previousFinished && this.eosTokens.includes(known[0]!) ? 1 : 0);
  }

  /** What follows an answer up to where the next one begins, the answer's end token included. */
  private afterAnswer(content: string): number[] {
    const text = this.render([
      { role: 'user', content: 'question' },
      { role: 'assistant', content: ANSWER },
      { role: 'user', content },
    ]);
    const at = text.indexOf(ANSWER);
    if (at < 0)
      throw new GauntletError('BAD_MODEL', `${this.where}: the template does not show the assistant's answer`);
    return this.tokenizer.encode(text.slice(at + ANSWER.length));
  }

  private render(messages: ChatMessage[]): string {
    const { bos_token, eos_token, pad_token, unk_token } = this.tokenizer.config;
    const special = Object.entries({ bos_token, eos_token, pad_token, unk_token }).map(([k, v]) => [k, tokenText(v)]);
    try {
      return this.template.render({ ...Object.fromEntries(special), messages, add_generation_prompt: true });
    } catch (cause) {
      throw new GauntletError('BAD_MODEL', `${this.where}: ${(cause as Error).message}`, { cause });
    }
  }
}

/** The template of chat_template.jinja, or of tokenizer_config.json. @throws {GauntletError} BAD_MODEL where there is none */
export function loadChatFormat(folder: string, tokenizer: TextTokenizer, eosTokens: readonly number[]): ChatFormat {
  const path = join(folder, 'chat_template.jinja');
  const isOwnFile = existsSync(path);
  const source = isOwnFile ? readFileSync(path, 'utf8') : defaultTemplate(tokenizer.config.chat_template);
  if (source === undefined)
    throw new GauntletError('BAD_MODEL', `${folder}: no chat_template in tokenizer_config.json`);
  return new ChatFormat(
    source,
    tokenizer,
    eosTokens,
    `${isOwnFile ? path : join(folder, 'tokenizer_config.json')}: chat template`,
  );
}

/** A template may be one text, or a list of named ones of which `default` is meant. */
function defaultTemplate(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return undefined;
  return value.find((t: { name?: unknown }) => t?.name === 'default')?.template;
}

/** tokenizer_config.json writes a special token as a text or as an object with `content`. */
function tokenText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? String((value as { content?: unknown }).content ?? '') : '';
}

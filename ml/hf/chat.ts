// Turns conversations into tokens with the model's own chat template. A chain only grows: it has the opening, and after each
// answer the tokens that the template puts between two answers. Earlier tokens are never encoded again, but the template may
// leave out the thinking of earlier answers.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import type { Content } from '../../core/prompts/prompts.js';
import type { TemplateArguments } from '../../core/schema/config.js';
import { unmarked } from './controlTokens.js';
import { readText } from './files.js';
import { ModelTemplate } from './template.js';
import type { TextTokenizer } from './tokenizer.js';

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: Content;
}

const ANSWER = '\u2402answer\u2403'; // stands for the answer while the template is rendered

const CACHED = 256;

/** Ends the thinking in an answer. The templates of all known models that think use it. */
const END_OF_THINKING = '</think>';

export class ChatFormat {
  private readonly template: ModelTemplate;
  private readonly continuations = new Map<string, number[]>(); // cached: rendering takes a millisecond, and turns repeat
  private mayThink: boolean | undefined;
  private turn: { before: string; after: string; opened: number[] } | undefined; // see turnParts

  /** @param source the template's Jinja text. @throws {GauntletError} BAD_MODEL if it does not parse */
  constructor(
    private readonly source: string,
    private readonly tokenizer: TextTokenizer,
    private readonly where = 'chat template',
    private readonly given: TemplateArguments = {},
  ) {
    try {
      this.template = new ModelTemplate(source);
    } catch (cause) {
      throw new GauntletError('BAD_MODEL', `${where}: ${(cause as Error).message}`, { cause });
    }
  }

  openingTokens(messages: ChatMessage[], begun = ''): number[] {
    return this.tokenizer.encodeProtected(`${this.render(messages)}${this.tokenizer.protect(begun)}`);
  }

  /** Whether the model may think before it answers: its template knows thinking, and does not end it in the prompt. */
  thinks(): boolean {
    this.mayThink ??=
      this.source.includes(END_OF_THINKING) &&
      !this.render([{ role: 'user', content: '' }])
        .trimEnd()
        .endsWith(END_OF_THINKING);
    return this.mayThink;
  }

  /**
   * The tokens between an answer and the next one, for one more user message. The template starts them with an end token,
   * perhaps after a space. This token is left out if the answer ended with it.
   * @param endToken the token that ended the answer; undefined if the answer was truncated
   * @param begun the next answer's first text
   * @throws {GauntletError} BAD_MODEL if the template does not render answers
   */
  continuationTokens(content: Content, endToken?: number, begun = ''): number[] {
    const key = JSON.stringify(content);
    const known = this.continuations.get(key) ?? this.tokenizer.encodeProtected(this.aroundAnswer(content)[1]);
    if (this.continuations.size >= CACHED) this.continuations.clear();
    this.continuations.set(key, known);
    const rest = known.slice(endToken === undefined ? 0 : this.lengthTo(known, [endToken]));
    return begun === '' ? rest : [...rest, ...this.tokenizer.encodeProtected(this.tokenizer.protect(begun))];
  }

  /**
   * The tokens that end an answer: those of the model, and the control token that the template writes after an answer. They
   * differ if a base model, which names the end of a document only, has the template of its chat model.
   */
  endTokens(ofModel: readonly number[]): number[] {
    let known: number[] = [];
    try {
      known = this.continuationTokens('');
    } catch (error) {
      if (!(error instanceof GauntletError)) throw error; // the template is made for one question
    }
    const first = known.find((token) => this.tokenizer.isControl(token));
    const isEnd = first !== undefined && this.lengthTo(known, [first]) > 0;
    return isEnd && !ofModel.includes(first) ? [...ofModel, first] : [...ofModel];
  }

  /** The tokens of an answer that is given. Text never becomes control tokens. */
  answerTokens(text: string, endTokens: readonly number[]): number[] {
    const known = this.continuationTokens('');
    const end = known[this.lengthTo(known, endTokens) - 1] ?? endTokens[0]!;
    const { encodeProtected, protect } = this.tokenizer;
    return [...encodeProtected(protect(text)), end];
  }

  /** The number of tokens up to the first end token; 0 if something other than spaces precedes it. */
  private lengthTo(tokens: number[], endTokens: readonly number[]): number {
    const at = tokens.findIndex((token) => endTokens.includes(token));
    return at >= 0 && this.tokenizer.decode(tokens.slice(0, at)).trim() === '' ? at + 1 : 0;
  }

  /**
   * The thinking of a turn: the range of prompt and answer together that the template leaves out once another turn follows.
   * undefined: it leaves out nothing.
   */
  thinkingRange(promptTokens: readonly number[], answerTokens: readonly number[]): [number, number] | undefined {
    const { opened } = this.turnParts();
    const start = promptTokens.length - opened.length;
    const inPrompt = opened.every((token, i) => promptTokens[start + i] === token) ? opened.length : 0;
    const inAnswer = this.thinkingLength([...answerTokens]);
    if (inPrompt + inAnswer === 0) return undefined;
    return [promptTokens.length - inPrompt, promptTokens.length + inAnswer];
  }

  /** The number of tokens at the start of an answer that the template leaves out. */
  private thinkingLength(tokens: number[]): number {
    const text = this.tokenizer.decode(tokens);
    if (!text.includes(END_OF_THINKING)) return 0;
    const { before, after } = this.turnParts();
    const rendered = this.renderAnswer({ control: this.tokenizer.protectSampled(tokens) }, 'question');
    if (!rendered.startsWith(before) || !rendered.endsWith(after)) return 0;
    const kept = unmarked(rendered.slice(before.length, rendered.length - after.length));
    const start = kept === '' ? text.length : text.lastIndexOf(kept);
    let [low, high] = [0, tokens.length]; // the fewest tokens whose text reaches the part that is kept
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tokenizer.decode(tokens.slice(0, middle)).length < start) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The text of a finished turn before and after its answer, and the tokens that only an unfinished turn has after `before`. */
  private turnParts(): { before: string; after: string; opened: number[] } {
    if (this.turn) return this.turn;
    const [before, after] = this.aroundAnswer('question');
    const prompt = this.render([{ role: 'user', content: 'question' }]);
    const opened = prompt.startsWith(before) ? this.tokenizer.encodeProtected(prompt.slice(before.length)) : [];
    this.turn = { before, after, opened };
    return this.turn;
  }

  /** The rendered text before and after an answer that one more user message follows. */
  private aroundAnswer(content: Content): [string, string] {
    const text = this.renderAnswer(ANSWER, content);
    const at = text.indexOf(ANSWER);
    if (at < 0)
      throw new GauntletError('BAD_MODEL', `${this.where}: the template does not render the assistant's answer`);
    return [text.slice(0, at), text.slice(at + ANSWER.length)];
  }

  private renderAnswer(answer: string | { control: string }, content: Content): string {
    return this.render([
      { role: 'user', content: 'question' },
      { role: 'assistant', content: [answer] },
      { role: 'user', content },
    ]);
  }

  private render(chat: ChatMessage[]): string {
    const messages = chat.map(({ role, content }) => ({ role, content: this.written(content) }));
    const { bos_token, eos_token, pad_token, unk_token } = this.tokenizer.config;
    const special = Object.entries({ bos_token, eos_token, pad_token, unk_token }).map(([k, v]) => [k, tokenText(v)]);
    const given = Object.entries(this.given).map(([k, v]) => [k, typeof v === 'string' ? this.written(v) : v]);
    const variables = Object.fromEntries([...given, ...special]) as Record<string, unknown>;
    try {
      const unused = { tools: null, documents: null }; // transformers passes them, too
      return this.template.render({ ...unused, ...variables, messages, add_generation_prompt: true });
    } catch (cause) {
      throw new GauntletError('BAD_MODEL', `${this.where}: ${(cause as Error).message}`, { cause });
    }
  }

  private written(content: Content): string {
    const parts = typeof content === 'string' ? [content] : content;
    return parts.map((part) => (typeof part === 'string' ? this.tokenizer.protect(part) : part.control)).join('');
  }
}

/**
 * Reads chat_template.jinja, else tokenizer_config.json.
 * @param given the arguments of the template, like `enable_thinking`
 * @throws {GauntletError} BAD_MODEL if there is no template
 */
export function loadChatFormat(folder: string, tokenizer: TextTokenizer, given?: TemplateArguments): ChatFormat {
  const { source, where } = templateSource(folder, tokenizer.config);
  if (source === undefined)
    throw new GauntletError('BAD_MODEL', `${folder}: no chat_template in tokenizer_config.json`);
  return new ChatFormat(source, tokenizer, `${where}: chat template`, given);
}

/** The Jinja text of a model folder, and its file. */
export function templateSource(
  folder: string,
  tokenizerConfig: Readonly<Record<string, unknown>>,
): { source: string | undefined; where: string } {
  const path = join(folder, 'chat_template.jinja');
  if (existsSync(path)) return { source: readText(path), where: path };
  return { source: defaultTemplate(tokenizerConfig.chat_template), where: join(folder, 'tokenizer_config.json') };
}

/** Reads a field that is a text, or a list of named templates, of which `default` is used. */
function defaultTemplate(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return undefined;
  const { template } = value.find((t: { name?: unknown } | null) => t?.name === 'default') ?? {};
  return typeof template === 'string' ? template : undefined;
}

/** The text of a special token of tokenizer_config.json, which is a text or an object with `content`. */
export function tokenText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? String((value as { content?: unknown }).content ?? '') : '';
}

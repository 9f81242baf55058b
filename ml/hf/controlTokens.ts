// Text that spells a control token (`<|im_end|>`) must stay text: it comes from models and problem files. Templates read
// content before it is encoded, so the content is marked, and the marks are removed when it is encoded.
import { escapeRegExp } from '../../core/parse/text.js';

/** A code point that Unicode keeps for internal use. It breaks up what would be read as a control token. */
const MARK = '\uFDD0';
const REPLACEMENT = '\uFFFD';

export interface AddedToken {
  content: string;
  lstrip?: boolean; // takes the blanks before it
  rstrip?: boolean; // takes the blanks after it
}

/** Protected text without its marks. */
export const unmarked = (text: string): string => text.replaceAll(MARK, '');

/** Added tokens that are only blanks are ordinary text. */
export const isControl = ({ content }: AddedToken): boolean => content.trim() !== '';

export class ControlTokens {
  private readonly contents: string[];
  private readonly spelled: RegExp; // finds tokens in text
  private readonly written: RegExp; // finds tokens, and the blanks that they take, in a rendered template
  private readonly stripping: ReadonlySet<string>; // tokens that take the blanks before them

  constructor(added: readonly AddedToken[]) {
    const tokens = added.filter(isControl).sort((a, b) => b.content.length - a.content.length);
    this.contents = tokens.map(({ content }) => content);
    this.spelled = new RegExp(this.contents.map(escapeRegExp).join('|') || NEVER, 'gu');
    this.stripping = new Set(tokens.filter(({ lstrip }) => lstrip).map(({ content }) => content.trimEnd()));
    const patterns = tokens.map(({ content, rstrip }) => `${escapeRegExp(content)}${rstrip ? '\\s*' : ''}`);
    this.written = new RegExp(`(${patterns.join('|') || NEVER})`, 'u');
  }

  /** Marks text so that no template and no tokenizer reads a control token in it, alone or with the text around it. */
  protect(text: string): string {
    const clean = text.replaceAll(MARK, REPLACEMENT);
    const marked = clean.replace(this.spelled, (token) => [...token, ''].join(MARK));
    // a control token may span the border of the text, or result from a normalizer
    const begins = this.contents.some((token) => borders(token, (part) => clean.startsWith(part), -1));
    const ends = this.contents.some((token) => borders(token, (part) => clean.endsWith(part), 1));
    const isMade = marked === clean && clean.normalize('NFKC').search(this.spelled) >= 0;
    return `${begins || isMade ? MARK : ''}${marked}${ends ? MARK : ''}`;
  }

  /** The parts of a rendered template; undefined if no text in it was marked. */
  split(rendered: string): { text: string; isControl: boolean }[] | undefined {
    if (!rendered.includes(MARK)) return undefined;
    const parts = rendered.split(this.written);
    // Blanks before a token become part of it here, because a pattern that begins with blanks takes quadratic time.
    for (let i = 1; i < parts.length; i += 2) {
      const [before, token] = [parts[i - 1]!, parts[i]!];
      if (!this.stripping.has(token.trimEnd())) continue;
      parts[i - 1] = before.trimEnd();
      parts[i] = before.slice(parts[i - 1]!.length) + token;
    }
    return parts.map((text, i) => ({ text: unmarked(text), isControl: i % 2 === 1 })).filter(({ text }) => text !== '');
  }
}

const NEVER = '(?!)';

/** Whether a proper end (`side` −1) or a proper beginning (1) of the token passes the test. */
function borders(token: string, test: (part: string) => boolean, side: 1 | -1): boolean {
  for (let n = 1; n < token.length; n++) if (test(side === 1 ? token.slice(0, n) : token.slice(-n))) return true;
  return false;
}

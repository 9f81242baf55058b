// Extracts the program from a stage-5 answer.
import type { PromptStyle } from '../schema/config.js';

const FENCE = /^[ \t]*(?:```|~~~)[ \t]*([\w+-]*)[^\n]*\n([\s\S]*?)(?:^[ \t]*(?:```|~~~)[ \t]*$|(?![\s\S]))/gm;
const PROGRAM_START = /^(?:def|class|import|from|async\s+def|@\w)/m;

type Extract = (text: string, entry: string | undefined) => string;

const EXTRACT: Readonly<Record<PromptStyle, Extract>> = {
  // the shipped model answers with the bare program
  tiny: (text) => text.replace(/\s+$/, ''),
  instruct: (text, entry) => {
    const source = text.replace(/\r\n?/g, '\n');
    const blocks = [...source.matchAll(FENCE)].map((match) => ({ language: match[1]!.toLowerCase(), code: match[2]! }));
    const python = blocks.filter(({ language, code }) => /^(?:py|python3?)?$/.test(language) && code.trim() !== '');
    const defines = (code: string): boolean =>
      entry === undefined ? /\bdef\s/.test(code) : entry.split('.').every((name) => defined(name).test(code));
    // prefer the last block that defines the function (and its class); blocks after it show how to use it
    const chosen = python.filter(({ code }) => defines(code)).at(-1) ?? python.at(-1);
    if (chosen) return chosen.code.replace(/\s+$/, '');
    const start = source.search(PROGRAM_START);
    return start < 0 ? '' : source.slice(start).replace(/\s+$/, '');
  },
};

/** The program, or '' if the answer contains none. Prefers the block that defines `entry`. */
export function extractCode(text: string, style: PromptStyle, entry?: string): string {
  return EXTRACT[style](text, entry);
}

const defined = (name: string): RegExp => new RegExp(`\\b(?:def|class)\\s+${escapeForRegExp(name)}\\b`);
const escapeForRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

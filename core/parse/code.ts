// Extracts the program from a stage-5 answer.
import { parser } from '@lezer/python';
import type { PromptStyle } from '../schema/config.js';

/** At the start of a line, perhaps in a list or a quotation, or at its end with the name of the language. */
const OPENING =
  /^[\s>]*(?:(?:[-*+]|\d+[.)])\s+)?(?:```|~~~)[ \t]*([\w+-]*)[^`]*$|(?:```|~~~)[ \t]*(py|python3?)[ \t]*$/i;
const CLOSING = /^[\s>]*(?:```|~~~)[ \t]*(\w*)/;
const CLOSING_AT_END = /^([^`]*\S)[ \t]*```[ \t]*$/; // of a line of code
const PROGRAM_START = /^(?:(?:def|class|import|from|async\s+def)\b|@\w)/m;
const PYTHON = /^(?:py|python3?)?$/;
const STUB = /:\s*(?:\.\.\.|pass)\s*$/; // shows how a function is written

interface Block {
  language: string;
  code: string;
}

/** The program, or '' if the answer contains none. Prefers the block that defines `entry`. */
export function extractCode(text: string, style: PromptStyle, entry?: string): string {
  if (style === 'tiny') return text.trimEnd(); // the shipped model answers with the bare program
  const source = text.replace(/\r\n?/g, '\n');
  const python = blocksOf(source).filter(({ language, code }) => PYTHON.test(language) && code.trim() !== '');
  const defines = ({ code }: Pick<Block, 'code'>): boolean =>
    entry === undefined ? /\bdef\s/.test(code) : entry.split('.').every((name) => defined(name).test(code));
  const defining = python.filter(defines);
  const bare = { code: bareProgram(source) };
  // the last one: blocks after it show how to use it, or parts of it
  const chosen =
    defining.findLast(({ code }) => errorsIn(code).length === 0 && !STUB.test(code)) ??
    defining.at(-1) ??
    (defines(bare) ? bare : undefined) ?? // with one fence, at its end
    python.findLast(({ language }) => language !== '') ??
    python.at(-1) ??
    bare;
  return chosen.code.trimEnd();
}

/** The fenced blocks of an answer. The last one may be open. */
function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; lines: string[] } | undefined;
  const close = (): void => {
    if (open) blocks.push({ language: open.language, code: dedented(open.lines) });
    open = undefined;
  };
  for (const line of text.split('\n')) {
    const [closing, language = ''] = CLOSING.exec(line) ?? [];
    const last = CLOSING_AT_END.exec(line)?.[1];
    if (open && closing !== undefined) {
      close();
      if (language !== '' && OPENING.test(line)) open = { language: language.toLowerCase(), lines: [] };
    } else if (open && last !== undefined) {
      open.lines.push(last);
      close();
    } else if (open) open.lines.push(line);
    else {
      const found = OPENING.exec(line);
      if (found) open = { language: (found[1] ?? found[2] ?? '').toLowerCase(), lines: [] };
    }
  }
  close();
  return blocks;
}

/** Without the indentation or the quotation marks that all lines share. */
function dedented(lines: readonly string[]): string {
  const filled = lines.filter((line) => line.trim() !== '');
  if (filled.length > 0 && filled.every((line) => /^\s*>/.test(line)))
    return dedented(lines.map((line) => line.replace(/^\s*> ?/, '')));
  const indent = Math.min(...filled.map((line) => line.search(/\S/)));
  return lines.map((line) => line.slice(Math.min(indent, line.length))).join('\n');
}

/** Code without a fence: from its first line to a fence, or to the first line that is neither Python nor indented. */
function bareProgram(text: string): string {
  const start = text.search(PROGRAM_START);
  if (start < 0) return '';
  const code = text.slice(start).replace(/^\s*(?:```|~~~)[\s\S]*/m, '');
  const lines = errorsIn(code).map((at) => code.lastIndexOf('\n', at - 1) + 1);
  const prose = lines.find((line) => line > 0 && /\S/.test(code[line] ?? ''));
  return code.slice(0, prose);
}

/** The positions of what is not Python. */
function errorsIn(code: string): number[] {
  const errors: number[] = [];
  parser.parse(code).iterate({ enter: ({ type, from }) => void (type.isError && errors.push(from)) });
  return errors;
}

const defined = (name: string): RegExp => new RegExp(`\\b(?:def|class)\\s+${escapeForRegExp(name)}\\b`);
const escapeForRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

// Extracts the program from a stage-5 answer.
import { parser } from '@lezer/python';
import type { PromptStyle } from '../schema/config.js';
import { escapeRegExp } from './text.js';

/** At the start of a line, perhaps in a list or a quotation, or at its end with the name of the language. */
const OPENING =
  /^[\s>]*(?:(?:[-*+]|\d+[.)])\s+)?(?:```|~~~)[ \t]*([\w+-]*)(?![\w+-])[^`]*$|(?:```|~~~)[ \t]*(py|python3?)[ \t]*$/i;
const CLOSING = /^[\s>]*(?:```|~~~)\s*$/;
const CLOSING_BEFORE_TEXT = /^[\s>]*(?:```|~~~)[ \t]*(\w*)/;
const CLOSING_AFTER_CODE = /^([^`]*[^`\s])[ \t]*```[ \t]*$/;
const PROGRAM_START = /^(?:(?:def|class|import|from|async\s+def)\b|@\w)/m;
const PYTHON = /^(?:py|python3?)?$/;
const MAX_PARSED = 20_000;
const STUB_END = /(?:\.\.\.|\bpass)$/;
const HEADER = /^\s*(?:(?:async\s+)?def\b|class\b|@|import\b|from\b|$)/;

interface Block {
  language: string;
  code: string;
}

/** The program, or '' if the answer contains none. Prefers the block that defines `entry`. */
export function extractCode(text: string, style: PromptStyle, entry?: string): string {
  if (style === 'tiny') return text.trimEnd(); // the shipped model answers with the bare program
  const source = text.replace(/\r\n?/g, '\n');
  const defines = (code: string): boolean =>
    entry === undefined ? /\bdef\s/.test(code) : entry.split('.').every((name) => defined(name).test(code));
  // A fence in a line of code may end the block, or belong to the program. The first reading with a whole program counts.
  const readings = [true, false].map((strict) =>
    blocksOf(source, strict).filter(({ language, code }) => PYTHON.test(language) && code.trim() !== ''),
  );
  const defining = readings.map((blocks) => blocks.map(({ code }) => code).filter(defines));
  // the last block: those after it show how to use it, or parts of it
  for (const codes of defining) {
    const whole = codes.findLast((code) => !isStub(code) && errorsIn(code).length === 0);
    if (whole !== undefined) return whole.trimEnd();
  }
  const broken = defining[0]!.at(-1) ?? defining[1]!.at(-1);
  if (broken !== undefined) return broken.trimEnd();
  const bare = bareProgram(source);
  if (defines(bare)) return bare.trimEnd(); // its only fence may be at its end
  const blocks = readings[1]!;
  const other = blocks.findLast(({ language }) => language !== '') ?? blocks.at(-1);
  return (other?.code ?? bare).trimEnd();
}

/**
 * The fenced blocks of an answer. The last one may be open.
 * @param strict only a fence alone on its line ends a block
 */
function blocksOf(text: string, strict: boolean): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; lines: string[] } | undefined;
  const start = (line: string): void => {
    const found = OPENING.exec(line);
    open = found ? { language: (found[1] ?? found[2] ?? '').toLowerCase(), lines: [] } : undefined;
  };
  const close = (): void => {
    if (open) blocks.push({ language: open.language, code: dedented(open.lines) });
    open = undefined;
  };
  for (const line of text.split('\n')) {
    if (!open) start(line);
    else if (CLOSING.test(line)) close();
    else if (!strict && CLOSING_BEFORE_TEXT.test(line)) {
      close();
      if (CLOSING_BEFORE_TEXT.exec(line)![1] !== '') start(line); // it was not closed before the next
    } else if (!strict && CLOSING_AFTER_CODE.test(line)) {
      open.lines.push(CLOSING_AFTER_CODE.exec(line)![1]!);
      close();
    } else open.lines.push(line);
  }
  close();
  return blocks;
}

/** Removes the marks of a quotation, and the indentation that all lines share. */
function dedented(lines: readonly string[]): string {
  const isFilled = (line: string): boolean => line.trim() !== '';
  const isQuoted = lines.every((line) => !isFilled(line) || /^\s*>/.test(line));
  const own = isQuoted ? lines.map((line) => line.replace(/^\s*> ?/, '')) : lines;
  const indent = own.reduce((least, line) => (isFilled(line) ? Math.min(least, line.search(/\S/)) : least), 1000);
  return own.map((line) => line.slice(Math.min(indent, line.length))).join('\n');
}

/** Whether a program only shows how a function is written. */
function isStub(code: string): boolean {
  const lines = code.trim().split('\n');
  return STUB_END.test(lines.at(-1)!) && lines.slice(0, -1).every((line) => HEADER.test(line));
}

/** Code without a fence: from its first line to a fence, or to the first line that is neither Python nor indented. */
function bareProgram(text: string): string {
  const start = text.search(PROGRAM_START);
  if (start < 0) return '';
  const code = text.slice(start).replace(/^[ \t]*(?:```|~~~)[\s\S]*/m, '');
  const lines = errorsIn(code).map((at) => code.lastIndexOf('\n', at - 1) + 1);
  const prose = lines.find((line) => line > 0 && /\S/.test(code[line] ?? ''));
  return code.slice(0, prose);
}

/** The positions of what is not Python; none in a long text, whose mistakes may take seconds to parse. */
function errorsIn(code: string): number[] {
  if (code.length > MAX_PARSED) return [];
  const known = code
    .replace(/(?<![\w.])(\d[\d_]*)\.(?![\w.])/g, '$10') // the grammar lacks '1.',
    .replace(/\byield(?=[ \t]*(?:$|[)\]};,#]))/gm, 'yiel0') // 'yield' without a value,
    .replace(/\f/g, ' '); // and form feeds
  const errors: number[] = [];
  parser.parse(known).iterate({ enter: ({ type, from }) => void (type.isError && errors.push(from)) });
  return errors;
}

const defined = (name: string): RegExp => new RegExp(`\\b(?:def|class)\\s+${escapeRegExp(name)}\\b`);

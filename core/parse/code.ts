// Extracts the program from a stage-5 answer.
import { parser } from '@lezer/python';
import type { PromptStyle } from '../schema/config.js';
import type { Problem } from '../schema/problem.js';
import { importsOf, neededBy } from './definitions.js';
import { escapeRegExp } from './text.js';

/** An opening fence: at the start of a line, also in a list or a quotation, or at the end of a line with a language's name. */
const OPENING =
  /^[\s>]*(?:(?:[-*+]|\d+[.)])\s+)?(`{3,}|~{3,}(?!~))[ \t]*(?![ \t])([\w+-]*)(?![\w+-])([^`]*)$|(```|~~~)[ \t]*(py|python3?)[ \t]*$/i;
const CLOSING = /^[\s>]*(`{3,}|~{3,})\s*$/;
const CLOSING_BEFORE_TEXT = /^[\s>]*(?:```|~~~)[ \t]*(\w*)/;
const CLOSING_AFTER_CODE = /^([^`]*[^`\s])[ \t]*```[ \t]*$/;
const ONE_LINE = /^[\s>]*(`{1,3})[ \t]*(?:(?:py|python3?)[ \t]+)?(?![ \t])([^`\n]+)\1[ \t]*$/i;
const W = String.raw`[\p{L}\p{M}\p{N}_]`; // a character of a name, which \w and \b do not know beyond ASCII
const NAME = `(?!\\d)${W}+`;
/** Matches the first line of a program, not prose like "class diagrams are below", "import the module", "from here". */
const PROGRAM_START = new RegExp(
  `^(?:(?:async\\s+)?(?:def|class)\\s+${NAME}\\s*(?:[(:[\\\\]|$)|import\\s+(?:${W}|\\.)+\\s*(?:[,;#\\\\]|$|as\\b)|` +
    `from\\s+(?:${W}|\\.)+\\s*(?:\\\\|import\\b)|@\\w)`,
  'u',
);
const TARGET = String.raw`\*?(?![\d.])(?:${W}|\.)+(?:\[[^\]\n]{0,200}\])*`;
/** Lines with which programs begin that PROGRAM_START does not match, and lines that continue them. */
const CODE_LINE = new RegExp(
  `^(?:${TARGET}(?:[ \\t]*,[ \\t]*${TARGET})*(?:[ \\t]*,)?[ \\t]*(?::[^=\\n]*|[-+*/%&|^@]|\\*\\*|//|<<|>>)?=(?!=)|` +
    `(?![\\d.])(?:${W}|\\.)+\\(|(?:for|while|if|with)\\b.*:|try:)`,
  'u',
);
const CONTINUED = /^(?:\s|$|#|[)\]}]|(?:elif|except)\b.*:|(?:else|finally):)/;
const TAGS = 'code|pre|answer|final_answer|solution|program|python';
const OPENING_TAG = new RegExp(`^[ \\t]*(?:<(?:${TAGS})\\b[^>\\n]{0,80}>|\\[(?:${TAGS})\\])+`, 'gim');
const ONE_CLOSING = `(?:</(?:${TAGS})>|\\[/(?:${TAGS})\\])`;
const CLOSING_TAG = new RegExp(`(?<!${ONE_CLOSING})${ONE_CLOSING}+[ \\t]*$`, 'gim');
const PYTHON = /^(?:i?py(?:thon)?[23]?|pycon|python-repl)?$/;
const AROUND = /^(?:markdown|md|text)?$/;
const READS_INPUT = /\binput\s*\(|\bstdin\b|\bopen\(\s*0\b/;
const MAIN = 'main'; // the entry of whole programs
const EVALPLUS_BEGUN = /^Below is a Python script .*\n```python\n/; // how its prompt begins the answer
const EVALPLUS_END = /\n(?:```(?:\n|$)|if __name__|def main\(|print\()/; // where EvalPlus stops sampling
const MAX_PARSED = 20_000;
const MAX_TRIED = 20; // the most blocks or lines that are tried
const MAX_DEPTH = 3; // blocks within blocks
const STUB_END = /(?:\.\.\.|\bpass)$/;
const HEADER = /^\s*(?:(?:async\s+)?def\b|class\b|@|import\b|from\b|$)/;

type Called = Pick<Problem, 'entry' | 'functionSignature'>;

interface Block {
  language: string;
  code: string;
}

/** The program, or '' if the answer contains none. Prefers the block that defines `entry`. */
export function extractCode(text: string, style: PromptStyle, entry?: string): string {
  if (style === 'tiny') return text.trimEnd(); // the shipped model answers with the bare program
  const source = text.replace(/\r\n?/g, '\n');
  if (style === 'evalplus') {
    const code = source.replace(EVALPLUS_BEGUN, '').split(EVALPLUS_END)[0]!.trimEnd();
    return entry === undefined ? code : neededBy(entry, code);
  }
  const thought = source.lastIndexOf('</think>');
  const answer = thought < 0 ? '' : programIn(source.slice(thought + '</think>'.length), entry);
  return (answer || programIn(source, entry)).trimEnd();
}

/** The program without tests and examples of the model below its function, with the signature's imports that it uses. */
export function judgedCode(text: string, style: PromptStyle, { entry, functionSignature }: Called): string {
  const code = extractCode(text, style, entry);
  if (style !== 'instruct' || entry === MAIN) return code;
  const own = neededBy(entry.split('.')[0]!, code, false);
  const bound = new Set(importsOf(own).flatMap(boundNames));
  const lacking = (name: string): boolean => !bound.has(name) && new RegExp(whole(name), 'u').test(own);
  const missing = importsOf(functionSignature).filter((one) => boundNames(one).some(lacking));
  if (missing.length === 0) return own;
  const head = /^(?:[\s\S]*^from\s+__future__\s.*\n)?/m; // must stay first
  return own.replace(head, (first) => `${first}${missing.join('\n')}\n\n`);
}

/** The text itself if it is a program; otherwise the program in it, for a model's answer with other text around the program. */
export function programOf(text: string, entry?: string): string {
  const isAnswer =
    /^[ \t]*(?:```|~~~)|<\/think>/m.test(text) && (text.length > MAX_PARSED || errorsIn(text).length > 0);
  return (isAnswer && extractCode(text, 'instruct', entry)) || text;
}

function programIn(source: string, entry: string | undefined): string {
  const names = entry === undefined ? [/\bdef\s/] : entry.split('.').map((name, i) => defined(name, i > 0));
  const defines = (code: string): boolean => names.every((name) => name.test(code));
  const isMeant = (code: string): boolean => defines(code) || (entry === MAIN && READS_INPUT.test(code));
  // A fence in a line of code may end the block, or belong to the program. The first reading with a whole program counts.
  const all = [true, false].map((strict) => blocksOf(source, strict).filter(({ code }) => code.trim() !== ''));
  const readings = all.map((blocks) => blocks.filter(({ language }) => PYTHON.test(language)));
  // the last suitable block counts: blocks after it show how to use it, or parts of it
  const inOthers = all.map((blocks) => blocks.filter(({ language }) => !PYTHON.test(language))); // such as ```tool_code
  for (const blocks of [...readings, ...inOthers]) {
    const codes = blocks.map(({ code }) => code);
    const at = codes.findLastIndex((code) => isMeant(code) && !isStub(code) && errorsIn(code).length === 0);
    if (at >= 0) return withNeeded(codes, at);
  }
  const broken = readings.map((blocks) => blocks.findLast(({ code }) => defines(code)));
  if (broken[0] ?? broken[1]) return (broken[0] ?? broken[1])!.code;
  const bare = bareProgram(source, entry);
  if (isMeant(bare)) return bare; // the answer's only fence may be after the program
  const blocks = readings[1]!;
  const other = blocks.findLast(({ language }) => language !== '') ?? blocks.findLast(isProgram) ?? blocks.at(-1);
  return other?.code ?? bare;
}

/** Whether a block without a language holds statements, not an example of input or output. */
const isProgram = ({ code }: Block): boolean =>
  code.split('\n').some((line) => PROGRAM_START.test(line) || CODE_LINE.test(line)) && errorsIn(code).length === 0;

/** A block, preceded by nearby blocks that define or import names which the block uses but does not define. */
function withNeeded(codes: readonly string[], at: number): string {
  let program = codes[at]!;
  const others = [...codes.slice(Math.max(0, at - MAX_TRIED), at).reverse(), ...codes.slice(at + 1, at + MAX_TRIED)];
  for (const other of others) {
    if (program.length > MAX_PARSED || other.length > MAX_PARSED || !isDefinitions(other)) continue;
    const isNeeded = boundNames(other).some((name) => lacks(program, name));
    if (isNeeded && errorsIn(other).length === 0 && !isStub(other)) program = `${other.trimEnd()}\n\n${program}`;
  }
  return program;
}

const DEFINITION = new RegExp(
  `^(?:(?:async\\s+)?def|class)\\s+(${NAME})|^[ \\t]*(?:from\\s+(?:${W}|\\.)+\\s+)?import\\s+(\\([^()]*\\)|[^\\n]+)|` +
    `^(${NAME}(?:[ \\t]*,[ \\t]*${NAME})*)[ \\t]*(?::[^=\\n]*)?=(?!=)`,
  'gmu',
);
const ASSIGNMENT = new RegExp(`^${NAME}\\s*=(?!=)`, 'u');

/** The names that functions, classes, imports and assignments at the top level bind. */
function boundNames(code: string): string[] {
  const found = [...code.matchAll(DEFINITION)].slice(0, 100);
  const lastName = (part: string): string =>
    part
      .replace(/#.*/g, '')
      .match(/[\p{L}\p{M}\p{N}_]+/gu)
      ?.at(-1) ?? '';
  return found.flatMap(([, defined, imported, assigned]) =>
    (imported ?? defined ?? assigned!).split(',').map(lastName),
  );
}

/** Whether a program only defines, so that running it does nothing. */
export const isDefinitions = (code: string): boolean =>
  code.split('\n').every((line) => CONTINUED.test(line) || PROGRAM_START.test(line) || ASSIGNMENT.test(line)) &&
  !READS_INPUT.test(code);

/** Functions that code also uses without a definition. */
const BUILTIN =
  /^(?:abs|all|any|filter|input|len|list|map|max|min|pow|print|range|reversed|round|set|sorted|str|sum|zip)$/;

const whole = (name: string): string => `(?<!${W})${escapeRegExp(name)}(?!${W})`;

/** Whether code uses a name that nothing in the code binds. False in doubt. */
function lacks(code: string, name: string): boolean {
  if (name === '' || BUILTIN.test(name)) return false;
  const plain = code.replace(/'(?:\\.|[^'\\\n]){0,500}'|"(?:\\.|[^"\\\n]){0,500}"|#[^\n]*/g, '""');
  const n = whole(name);
  const isUsed = new RegExp(`(?<!\\.)${n}`, 'u').test(plain);
  const binds = `\\b(?:def|class|as|import|lambda|for)\\b[^\\n:]{0,200}${n}|(?<!\\.)${n}\\s*(?::[^=\\n]*)?=(?!=)`;
  return isUsed && !new RegExp(binds, 'u').test(plain);
}

/**
 * The fenced blocks of an answer. The last one may be open.
 * @param strict only a fence alone on its line ends a block
 */
function blocksOf(text: string, strict: boolean, depth = 0): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; lines: string[]; fence: string; indent: number } | undefined;
  const start = (line: string): void => {
    const [found, fence = '', language, rest = '', inText = '', ofText] = OPENING.exec(line) ?? [];
    const name = (language ?? ofText ?? '').toLowerCase();
    const first = rest.trim(); // the first line of the program may follow the fence
    const lines = PYTHON.test(name) && PROGRAM_START.test(first) ? [first] : [];
    const opened = fence || inText;
    open = found === undefined ? undefined : { language: name, lines, fence: opened, indent: line.indexOf(opened) };
    const [, ticks = '', code = ''] = (open ? null : ONE_LINE.exec(line)) ?? [];
    if (
      ticks.length === 3 ? isProgram({ language: '', code }) : PROGRAM_START.test(code) && errorsIn(code).length === 0
    )
      blocks.push({ language: '', code });
  };
  const close = (): void => {
    if (!open) return;
    const { language } = open;
    const code = withoutPrompts(dedented(open.lines));
    const isAround = AROUND.test(language) && (language !== '' || /^\s*(?:```|~~~)/.test(code)); // it may hold a whole answer
    const inner = isAround && depth < MAX_DEPTH ? blocksOf(code, strict, depth + 1) : [];
    blocks.push(...(inner.length > 0 ? inner : [{ language, code }]));
    open = undefined;
  };
  const closes = (line: string): boolean => {
    const fence = CLOSING.exec(line)?.[1];
    if (fence === undefined || !strict) return fence !== undefined;
    const isDeeper = line.indexOf(fence) > open!.indent + 3; // as in Markdown: a fence in a docstring
    return !isDeeper && fence[0] === open!.fence[0] && fence.length >= open!.fence.length;
  };
  for (const line of text.split('\n')) {
    if (!open) start(line);
    else if (closes(line)) close();
    else if (!strict && CLOSING_BEFORE_TEXT.test(line)) {
      close();
      if (CLOSING_BEFORE_TEXT.exec(line)![1] !== '') start(line); // the next block begins before this one was closed
    } else if (!strict && CLOSING_AFTER_CODE.test(line)) {
      open.lines.push(CLOSING_AFTER_CODE.exec(line)![1]!);
      close();
    } else open.lines.push(line);
  }
  close();
  return blocks;
}

/** Code of a session with the interpreter, without its prompts and answers. */
function withoutPrompts(code: string): string {
  if (!/^\s*>>> /.test(code)) return code;
  const lines = code.split('\n').filter((line) => /^\s*(?:>>>|\.\.\.)(?: |$)/.test(line));
  return lines.map((line) => line.replace(/^\s*(?:>>>|\.\.\.) ?/, '')).join('\n');
}

/** Removes the marks of a quotation, and the indentation that all lines share. */
function dedented(lines: readonly string[]): string {
  const isFilled = (line: string): boolean => line.trim() !== '';
  const isQuoted = lines.every((line) => !isFilled(line) || /^\s*>(?!>> )/.test(line));
  const own = isQuoted ? lines.map((line) => line.replace(/^\s*> ?/, '')) : lines;
  const indent = own.reduce((least, line) => (isFilled(line) ? Math.min(least, line.search(/\S/)) : least), 1000);
  return own.map((line) => line.slice(Math.min(indent, line.length))).join('\n');
}

/** Whether a program only shows how a function is written. */
function isStub(code: string): boolean {
  const lines = code.trim().split('\n');
  return STUB_END.test(lines.at(-1)!) && lines.slice(0, -1).every((line) => HEADER.test(line));
}

/**
 * Code without an opening fence: from its first line to a fence, or to the first line that is neither Python nor indented. Lines
 * before its first definition or import belong to it if they bind names that it uses, or if it is a whole program.
 */
function bareProgram(given: string, entry: string | undefined): string {
  const lines = withoutPrompts(given.replace(OPENING_TAG, '').replace(CLOSING_TAG, '\n```')).split('\n');
  const programAt = (start: number): string => {
    const rest = lines.slice(start).join('\n');
    return upToProse(rest.replace(/^[ \t]*(?:```|~~~)[\s\S]*/m, ''));
  };
  const first = lines.findIndex((line) => PROGRAM_START.test(line));
  if (first >= 0) return programAt(firstOfProgram(lines, first, entry === MAIN));
  const isStart = (line: string): boolean =>
    entry === MAIN ? CODE_LINE.test(line) : entry !== undefined && defined(entry.split('.')[0]!).test(line);
  const starts = lines.flatMap((line, i) => (isStart(line) ? [i] : [])).slice(0, MAX_TRIED);
  const whole = (line: string): string => (/:\s*$/.test(line) ? `${line} pass` : line); // gives a loop or a condition its body
  const programs = starts.flatMap((i) => {
    const code = programAt(i); // the first line of the code may be incomplete
    return [whole(lines[i]!), code].some((part) => errorsIn(part).length === 0) ? [code] : [];
  });
  return programs.find((code) => READS_INPUT.test(code)) ?? programs[0] ?? '';
}

/** The index of the first line of the code that ends before line `end`. */
function firstOfProgram(lines: readonly string[], end: number, isWhole: boolean): number {
  const starts: number[] = [];
  for (let i = end - 1; i >= 0; i--) {
    if (CODE_LINE.test(lines[i]!)) starts.push(i);
    else if (!CONTINUED.test(lines[i]!)) break;
  }
  const textFrom = (start: number): string => lines.slice(start, end).join('\n');
  // prose may begin like code: "solve(x) returns x"
  const start = starts
    .reverse()
    .slice(0, MAX_TRIED)
    .find((start) => errorsIn(textFrom(start)).length === 0);
  if (start === undefined) return end;
  const after = lines.slice(end).join('\n');
  return isWhole || boundNames(textFrom(start)).some((name) => lacks(after.slice(0, MAX_PARSED), name)) ? start : end;
}

/** The code up to the first line that is neither Python nor indented. */
function upToProse(code: string): string {
  const lines = errorsIn(code).map((at) => code.lastIndexOf('\n', at - 1) + 1);
  const prose = lines.find((line) => line > 0 && /\S/.test(code[line] ?? ''));
  return code.slice(0, prose);
}

/** The positions of syntax errors. Empty for a long text, because its errors could take seconds to parse. */
function errorsIn(code: string): number[] {
  if (code.length > MAX_PARSED) return [];
  const known = code
    .replace(/(?<![\w.])(\d[\d_]*)\.(?![\w.])/g, '$10') // the grammar lacks '1.'
    .replace(/\byield(?=[ \t]*(?:$|[)\]};,#]))/gm, 'yiel0') // the grammar lacks 'yield' without a value
    .replace(/\f/g, ' '); // the grammar lacks form feeds
  const errors: number[] = [];
  parser.parse(known).iterate({ enter: ({ type, from }) => void (type.isError && errors.push(from)) });
  return errors;
}

const defined = (name: string, isMember = false): RegExp =>
  new RegExp(
    `\\b(?:def|class)\\s+${escapeRegExp(name)}(?!${W})|^${isMember ? '[ \\t]*' : ''}${escapeRegExp(name)}\\s*(?::[^=\\n]*)?=(?!=)`,
    'mu',
  );

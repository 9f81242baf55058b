// Reads problems to solve. They need no reference solution, and may have tests.
import { GauntletError } from '../core/base/errors.js';
import { takePiece } from '../core/parse/scan.js';
import { joinedLines, type Signature, signatureAt } from '../core/parse/signature.js';
import type { Calling } from '../core/schema/calling.js';
import type { Problem, Rejected } from '../core/schema/problem.js';
import { callingOfClass, UNSIGNED, USUAL_CLASS } from '../data/calling.js';
import { openEntries, type ReadingOptions } from '../data/entries.js';
import { UnusableRecord } from '../data/formats/format.js';
import { formatOf } from '../data/formats/index.js';

/** The problems of files, in the order of the files. @throws GauntletError BAD_INPUT, one line */
export async function readTasks(
  files: string | readonly string[],
  options: ReadingOptions = {},
): Promise<{ tasks: Problem[]; rejected: Rejected[] }> {
  const tasks: Problem[] = [];
  const rejected: Rejected[] = [];
  for await (const entry of await openEntries(files, { ...options, references: 'optional' })) {
    if ('reason' in entry) rejected.push(entry);
    else {
      const { problem } = entry;
      const isMessage = problem.functionSignature === UNSIGNED; // a signature may be in the description
      tasks.push(isMessage ? { ...taskOfMessage(problem.description), id: problem.id } : problem);
    }
  }
  return { tasks, rejected };
}

const DEF_LINE = /^([ \t]*)(?:async\s+)?def\s+[\p{L}_]/gmu;
const CLASS_LINE = /(?:^|\n)[ \t]*(class\s[^\n]*)\n\s*$/; // perhaps with comments after it
const DECORATORS = /(?<=^|\n)(?:[ \t]*@[^\n]*\n)+$/;
const EMPTY_BODY = /^[^\S\n]*\n\s*(?:pass|\.\.\.)[ \t]*(?=\n|$)/;
const NO_BODY = /:\s*(?:pass|\.\.\.)\s*$/;
const EMPTY_FENCE = /^[ \t]*```\w*[ \t]*\n\s*```[ \t]*$/m;
const MAX_SIGNATURES = 100;
const MAX_HEADER = 5_000; // the most characters of a header
const MAX_CLASS = 50_000; // the most characters of a class

/** A signature in a message, and the text before and after it. */
interface Pasted {
  signature: string;
  owner: string | undefined;
  before: string;
  after: string;
}

/** The first signature in a message, except those of special methods such as __init__. A method is shown with its class. */
function pastedSignature(message: string): Pasted | undefined {
  for (const head of [...message.matchAll(DEF_LINE)].slice(0, MAX_SIGNATURES)) {
    const at = head.index + head[1]!.length;
    const context = message.slice(Math.max(0, at - MAX_HEADER), at + MAX_HEADER);
    const from = Math.min(at, MAX_HEADER);
    const { end } = takePiece(context, from, true);
    const found = signatureAt(context, from);
    if (!found || /^__\w+__$/.test(found.entry)) continue;
    const above = context.slice(0, from - head[1]!.length);
    const decorators = DECORATORS.exec(above)?.[0] ?? '';
    const own = [...decorators.split('\n'), oneLine(context.slice(from, end))].map((line) => line.trim());
    const lines = own.filter((line) => line !== '');
    const classLine = CLASS_LINE.exec(above.slice(0, above.length - decorators.length));
    const owner = found.owner === undefined ? undefined : (classLine?.[1] ?? `class ${found.owner}:`);
    const taken = decorators.length + (owner === undefined ? 0 : (classLine?.[0].length ?? 0));
    return {
      owner: found.owner,
      signature: (owner === undefined ? lines : [owner, ...lines.map((line) => `    ${line}`)]).join('\n'),
      before: message.slice(0, head.index - taken),
      after: message
        .slice(at + end - from)
        .replace(/^[ \t]*#[^\n]*/, '')
        .replace(EMPTY_BODY, ''),
    };
  }
  return undefined;
}

interface PastedClass {
  signature: string;
  name: string;
  calling: Calling;
}

/**
 * The class of a method, if it is a class of operations: it has a constructor and other methods, and is not `Solution`. Interview
 * problems call one method of `Solution`, whose constructor takes no arguments.
 */
function pastedClass(message: string, owner: string): PastedClass | undefined {
  const head = new RegExp(`^([ \\t]*)(class\\s+${owner}(?![\\p{L}\\p{N}_])[^\\n]*)\\n`, 'mu').exec(message);
  if (!head) return undefined;
  const text = message.slice(head.index, head.index + MAX_CLASS);
  const lines: string[] = [];
  let init: Signature | undefined;
  for (const found of [...text.matchAll(DEF_LINE)].slice(0, MAX_SIGNATURES)) {
    if (found[1]!.length <= head[1]!.length) break; // the class has ended
    const from = found.index + found[1]!.length;
    const signature = signatureAt(text, from);
    if (signature?.owner !== owner) continue;
    if (signature.entry === '__init__') init = signature;
    else if (signature.entry.startsWith('_')) continue;
    lines.push(`    ${oneLine(text.slice(from, takePiece(text, from, true).end))}`);
  }
  const isOne = init !== undefined && lines.length > 1 && (owner !== USUAL_CLASS || init.most > 0);
  return isOne ? { signature: [head[2], ...lines].join('\n'), name: owner, calling: callingOfClass(init!) } : undefined;
}

/** A header in one line, without comments, without a comma before its bracket, and without an empty body. */
function oneLine(header: string): string {
  const lines = joinedLines(header).split('\n');
  const [first = '', ...more] = lines.map((line) => (lines.length > 1 ? withoutComment(line) : line).trim());
  const joined = more.reduce((text, line) => {
    if (/^[)\]]/.test(line)) return text.replace(/,$/, '') + line;
    return /[([]$/.test(text) || line === '' ? text + line : `${text} ${line}`;
  }, first);
  return joined.trim().replace(NO_BODY, ':');
}

/** Removes the comment at the end of a line. A `#` in a string begins no comment. */
function withoutComment(line: string): string {
  const strings = /'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?/g;
  const at = line.replace(strings, (text) => '_'.repeat(text.length)).indexOf('#');
  return at < 0 ? line : line.slice(0, at);
}

/**
 * The problem of a message in plain English. The first signature in the message is the signature (`def f(a, b):`, perhaps in a
 * class). A class with a constructor and other methods is a class of operations.
 * @param fields of a problem file, which take precedence
 * @param exact the same fields with numbers as written (data/exactJson.ts)
 * @throws GauntletError BAD_INPUT, one line that names the field
 */
export function taskOfMessage(given: string, fields: object = {}, exact: () => unknown = () => fields): Problem {
  const message = given.replace(/\r\n?/g, '\n');
  const found = pastedSignature(message);
  const isDescribed = ['function_signature', 'entry', 'calling'].some((name) => name in fields);
  const operations = found?.owner === undefined || isDescribed ? undefined : pastedClass(message, found.owner);
  const description = found && !operations ? `${found.before}${found.after}`.replace(EMPTY_FENCE, '') : message;
  const json = {
    function_signature: operations?.signature ?? found?.signature ?? UNSIGNED,
    ...(operations && { entry: operations.name, calling: operations.calling }),
    ...fields,
    id: 'request',
    description: description.trim(),
  };
  try {
    return formatOf('gauntlet').read({ file: 'request', place: 'request', reference: null, json, exact });
  } catch (error) {
    if (error instanceof UnusableRecord) throw new GauntletError('BAD_INPUT', error.message);
    throw error;
  }
}

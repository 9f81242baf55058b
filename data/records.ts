// The records of a problem file in order: JSON lines (read one at a time), a JSON list, an object with `problems`, or one
// problem, each packed with gzip or zstd or not; or the rows of a Parquet file. Every error names the file and the place.
import { basename } from 'node:path';
import { NotText } from '../core/base/encoding.js';
import { GauntletError } from '../core/base/errors.js';
import { parseExactJson, parseJson } from './exactJson.js';
import { type Line, linesOf, MAX_LINE } from './lines.js';
import { readParquet } from './parquet.js';
import { ParquetFault, type Wanted } from './parquetGroups.js';
import { containerOf, unpacked } from './unpacked.js';

export interface SourceRecord {
  file: string;
  place: string; // 'line 3', 'problem 3' of a JSON list, or 'row 3' of a Parquet file
  index?: number; // counts from 1, over all files of a set
  /** The solution that --references gives. null: the problem is only solved, so solution and tests may be missing. */
  reference?: string | null;
  json: unknown;
  /** The record with numbers and the order of keys as written (exactJson.ts): 1.0 is a float, long ints keep their digits. */
  exact(): unknown;
}

/** @param file the name of the file; empty if the message has it already */
export const refuse = (file: string, message: string): GauntletError =>
  new GauntletError('BAD_INPUT', `${file && `${basename(file)}: `}${printable(message)}`);

/** One line of at most `most` characters that is safe to print: control and format characters become spaces. */
export function printable(text: string, most = 400): string {
  const line = text
    .slice(0, 4 * most)
    .replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** @throws GauntletError BAD_INPUT */
export async function* readRecords(file: string, wanted?: Wanted): AsyncGenerator<SourceRecord> {
  try {
    yield* (await containerOf(file)) === 'parquet' ? rowsOfFile(file, wanted) : recordsOfLines(file);
  } catch (error) {
    if (error instanceof NotText || error instanceof ParquetFault) throw refuse(file, error.message);
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof GauntletError || code === undefined) throw error;
    const reason = code === 'ENOENT' ? 'no such file' : code === 'EISDIR' ? 'it is a folder' : message;
    throw new GauntletError('BAD_INPUT', `cannot read problems from ${file}: ${reason}`);
  }
}

async function* rowsOfFile(file: string, wanted?: Wanted): AsyncGenerator<SourceRecord> {
  let number = 0;
  for await (const row of readParquet(file, wanted)) yield { file, place: `row ${++number}`, ...row };
  if (number === 0) throw refuse(file, 'is empty');
}

async function* recordsOfLines(file: string): AsyncGenerator<SourceRecord> {
  let first = true;
  for await (const [number, line] of linesOfFile(file)) {
    if (first && !isRecord(line)) {
      yield* recordsOfText(file); // one JSON text over many lines
      return;
    }
    first = false;
    yield lineRecord(file, number, line);
  }
  if (first) throw refuse(file, 'is empty');
}

/** Whether a line alone is one problem. */
function isRecord(line: string): boolean {
  try {
    const json = parseJson(line);
    return !Array.isArray(json) && !Array.isArray((json as { problems?: unknown } | null)?.problems);
  } catch {
    return false;
  }
}

function lineRecord(file: string, number: number, line: string): SourceRecord {
  try {
    return { file, place: `line ${number}`, json: parseJson(line), exact: () => parseExactJson(line) };
  } catch (error) {
    throw refuse(file, `line ${number} is not JSON: ${faultOf(error)}`);
  }
}

async function* recordsOfText(file: string): AsyncGenerator<SourceRecord> {
  const lines: string[] = [];
  let length = 0;
  let at: number | undefined; // the number of the first line
  for await (const [number, text] of linesOfFile(file)) {
    at ??= number;
    lines.push(text);
    length += text.length + 1;
    const hint = 'write JSON lines, one problem per line';
    if (length > MAX_LINE) throw refuse(file, `is one JSON text of more than ${MAX_LINE} characters; ${hint}`);
  }
  const content = lines.join('\n');
  let list: unknown[];
  try {
    list = listOf(parseJson(content));
  } catch (error) {
    const isList = content.trimStart().startsWith('[');
    throw refuse(file, `${isList ? '' : `line ${at} `}is not JSON: ${faultOf(error)}`);
  }
  if (list.length === 0) throw refuse(file, 'is empty: it lists no problems');
  let exact: unknown[] | undefined;
  for (const [index, json] of list.entries()) {
    const parsed = (): unknown[] => {
      exact ??= listOf(parseExactJson(content));
      return exact;
    };
    yield { file, place: `problem ${index + 1}`, json, exact: () => parsed()[index] };
  }
}

function listOf(json: unknown): unknown[] {
  const inner = (json as { problems?: unknown } | null)?.problems ?? json;
  return Array.isArray(inner) ? inner : [inner];
}

async function* linesOfFile(file: string): AsyncGenerator<Line> {
  const container = await containerOf(file);
  if (container === 'parquet') return; // another process has replaced the file
  yield* linesOf(await unpacked(file, container, (message) => refuse(file, message)), basename(file));
}

/** What is wrong with a JSON text, without the piece of it that Node repeats: the path may come from a run. */
const faultOf = (error: unknown): string =>
  (error as Error).message.replace(/,? ?(?:\.\.\.)?".*" ?(?:\.\.\.)? ?is not valid JSON$/s, '');

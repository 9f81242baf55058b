// Reads JSON lines twice: first to check every row, so that a bad row fails before any work; then row by row, so that a
// large input is never in memory as a whole. Standard input and pipes are copied to a temporary file.
import { createReadStream, createWriteStream, type ReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { NotText } from '../../core/base/encoding.js';
import { GauntletError } from '../../core/base/errors.js';
import { MARK, parseExactJson, parseJson, taggedOfJson } from '../../data/exactJson.js';
import { linesOf } from '../../data/lines.js';

export interface Rows<T> {
  count: number;
  read(): AsyncGenerator<T>;
  close(): Promise<void>;
}

/**
 * @param path a file, or - for standard input
 * @param parse throws if a row is bad; the message gets the file and the line
 * @param values a field with values of the tagged codec; its numbers are read as they are written, so that 1.0 is a float
 * @throws {GauntletError} BAD_INPUT
 */
export async function openRows<T>(
  path: string,
  parse: (row: unknown) => T,
  values?: string | undefined,
): Promise<Rows<T>> {
  const { name, file, close } = await rereadable(path);
  const read = (): AsyncGenerator<T> => rowsOf(createReadStream(file), name, parse, values);
  try {
    let count = 0;
    for await (const _ of read()) count++;
    if (count === 0) throw new GauntletError('BAD_INPUT', `${name}: has no rows`);
    return { count, read, close };
  } catch (error) {
    await close();
    if (error instanceof NotText) throw new GauntletError('BAD_INPUT', `${name}: ${error.message}`);
    throw error;
  }
}

async function* rowsOf<T>(
  input: ReadStream,
  name: string,
  parse: (row: unknown) => T,
  values: string | undefined,
): AsyncGenerator<T> {
  for await (const [number, text] of linesOf(input, name)) {
    let row: T;
    try {
      row = parse(parseLine(text, values));
    } catch (error) {
      if (!(error instanceof GauntletError)) throw error;
      throw new GauntletError(error.code, `${name}: line ${number}: ${error.message}`);
    }
    yield row;
  }
}

/** Returns a file with the input that can be read twice; `-` is standard input. @throws {GauntletError} BAD_INPUT */
export async function rereadable(path: string): Promise<{ name: string; file: string; close(): Promise<void> }> {
  const standard = path === '-';
  const name = standard ? 'standard input' : path;
  const cannot = (error: unknown): never => {
    const { code, syscall, path: at = '' } = error as NodeJS.ErrnoException;
    const isRead = syscall === 'read' || at === path;
    const what = isRead ? 'read' : `copied to the temporary folder ${tmpdir()}, which TMPDIR names`;
    throw new GauntletError('BAD_INPUT', `${name}: cannot be ${what} (${code})`);
  };
  const kind = standard ? undefined : await stat(path).catch(cannot);
  if (kind?.isDirectory()) throw new GauntletError('BAD_INPUT', `${name}: is a folder, a file of JSON lines is needed`);
  if (kind?.isFile()) return { name, file: path, close: async () => undefined };
  const folder = await mkdtemp(join(tmpdir(), 'gauntlet-rows-')).catch(cannot);
  const close = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const file = join(folder, basename(name));
    await pipeline(standard ? process.stdin : createReadStream(path), createWriteStream(file));
    return { name, file, close };
  } catch (error) {
    await close();
    return cannot(error);
  }
}

function parseLine(line: string, values: string | undefined): unknown {
  try {
    const json = withValues(parseJson(line), line, values);
    const word = /NaN|Infinity/.test(line) && bareWord(json, '');
    if (!word) return json;
    throw new GauntletError('BAD_INPUT', word);
  } catch (error) {
    if (error instanceof GauntletError) throw error;
    throw new GauntletError('BAD_INPUT', `not JSON: ${(error as Error).message.replace(/\s+/g, ' ')}`);
  }
}

/** Reads one field of a row again, so that its numbers stay as they are written. */
function withValues(json: unknown, line: string, field: string | undefined): unknown {
  if (field === undefined || typeof json !== 'object' || json === null || !Object.hasOwn(json, field)) return json;
  return { ...json, [field]: taggedOfJson((parseExactJson(line) as Record<string, unknown>)[field]) };
}

/** Finds NaN and Infinity, which Python writes as bare words and JSON does not have. @returns undefined if there are none */
function bareWord(value: unknown, path: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (MARK in value) return `${path || 'the row'} is ${value[MARK]}, a finite number is needed`;
  for (const [key, inner] of Object.entries(value)) {
    const found = bareWord(inner, Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

// The problems of one or several files in any known format. A record that cannot be used is given with its reason. An error is thrown
// only if the file itself is wrong: a line is not JSON, two problems have one id, or no record can be used.
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { GauntletError } from '../core/errors.js';
import type { Problem, Rejected } from '../core/schema/problem.js';
import {
  type Columns,
  type Draft,
  type FormatName,
  GIVEN,
  type ListStyle,
  NOTHING,
  type ProblemFormat,
  presentFields,
  UnusableRecord,
} from './formats/format.js';
import { FIELDS, formatOf, recogniseFormat } from './formats/index.js';
import { MAY_HOLD_TESTS, type Wanted } from './parquetGroups.js';
import { printable, readRecords, refuse, type SourceRecord } from './records.js';

export type DraftEntry = { id: string; draft: Draft } | Rejected;

export type References = ReadonlyMap<string, string> | 'optional';

/** What stands for the solution and the tests of a problem that lacks them, so that its format can read it. */
export const UNTESTED = { baseline_tests: [], [GIVEN]: NOTHING };

export interface DraftFile {
  format: FormatName;
  unread: ReadonlySet<string>;
  count: number; // of all records
  /** In the order of the files, which are read again at every call. */
  entries(): AsyncGenerator<DraftEntry>;
}

export interface ReadingOptions {
  format?: FormatName | 'auto';
  /** Solutions by id, for formats that have none; 'optional': a record may lack solution and tests. */
  references?: References;
  /** Columns instead of those of the format. */
  map?: Columns;
  /** Called with the number of records that were read. */
  onRecord?(count: number): void;
}

/** The entries of a set in one of its readings; nothing of it is checked yet but its format. */
export interface EntryFile {
  files: readonly string[];
  format: FormatName;
  /** Fields that may hold tests and are not read, of the records that were. */
  unread: ReadonlySet<string>;
  /** @param style how list tests are read whose record does not tell */
  entries(style?: ListStyle): AsyncGenerator<DraftEntry>;
}

/** @throws GauntletError BAD_INPUT, one line that names file and place */
export async function entriesIn(files: readonly string[], options: ReadingOptions = {}): Promise<EntryFile> {
  const { references = new Map(), onRecord } = options;
  const format = await formatFor(files, options);
  const unread = new Set<string>();
  const entries = (style?: ListStyle) => entriesOf({ files, format, references, onRecord, unread }, style);
  return { files, format: format.name, unread, entries };
}

/** What a set gives while it is read. */
export interface Reader {
  /** Before each pass over the files. */
  begin(): void;
  problem(problem: Problem): void;
  rejected(record: Rejected): void;
}

/**
 * Reads a set once; twice if records were rejected whose tests only the whole set makes clear.
 * @returns how list tests are read whose record does not tell
 * @throws GauntletError BAD_INPUT, one line; HUB_FAULT
 */
export async function readEntries(set: EntryFile, reader: Reader): Promise<ListStyle | undefined> {
  for (let style: ListStyle | undefined; ; ) {
    const styles = new Set<ListStyle>();
    let usable = 0;
    let first: Rejected | undefined;
    reader.begin();
    for await (const entry of set.entries(style)) {
      if ('draft' in entry) {
        const { problem, inputs, listStyles = [] } = entry.draft;
        for (const each of listStyles) styles.add(each);
        reader.problem(inputs ? { ...problem, inputs } : problem);
        usable++;
      } else {
        first ??= entry;
        reader.rejected(entry);
      }
    }
    if (first && style === undefined && styles.size === 1) style = [...styles][0];
    else if (usable > 0) return style;
    else throw refuse(set.files[0]!, `no record can be used; the first: ${first?.reason}`);
  }
}

/**
 * Reads the whole set once, so that a bad file is refused before anything is run.
 * @throws GauntletError BAD_INPUT, one line that names file and place
 */
export async function openDrafts(given: string | readonly string[], options: ReadingOptions = {}): Promise<DraftFile> {
  const set = await entriesIn(typeof given === 'string' ? [given] : given, options);
  let count = 0;
  const add = (): void => void count++;
  const begin = (): void => {
    count = 0;
  };
  const style = await readEntries(set, { begin, problem: add, rejected: add });
  return { format: set.format, unread: set.unread, count, entries: () => set.entries(style) };
}

/** The format that is named; else that of the first record that has one, since a record may lack a field. */
async function formatFor(
  files: readonly string[],
  { format = 'auto', map, references }: ReadingOptions,
): Promise<ProblemFormat> {
  if (map === undefined) {
    return format === 'auto' ? recognise(files, references === 'optional') : formatOf(format);
  }
  const mapped = formatOf(format === 'auto' ? 'columns' : format).mapped?.(map);
  if (mapped) return mapped;
  throw new GauntletError('BAD_INPUT', `--map: the format ${format} has fixed fields; leave out --format`);
}

/** @param isOwn if nothing tells: problems that are only solved may lack all that tells */
async function recognise(files: readonly string[], isOwn: boolean): Promise<ProblemFormat> {
  let first: SourceRecord | undefined;
  for await (const record of recordsOf(files, FIELDS)) {
    const format = recogniseFormat(record.json);
    if (format) return format;
    first ??= record;
  }
  const { file, place, json } = first!; // a file without a record is refused by readRecords
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  if (isOwn || (isObject && ('function_signature' in json || 'baseline_tests' in json))) return formatOf('gauntlet');
  const fields = isObject ? Object.keys(json).slice(0, 12).join(', ') || 'none' : 'not an object';
  const way = 'name a format with --format, or its columns with --map description=COLUMN,tests=COLUMN';
  throw refuse(file, `${place}: unknown format (its fields: ${fields}); ${way}`);
}

interface Reading {
  files: readonly string[];
  format: ProblemFormat;
  references: References;
  onRecord: ReadingOptions['onRecord'];
  unread: Set<string>;
}

/** The records of all files. With several files, a place begins with the name of its file. */
async function* recordsOf(files: readonly string[], wanted: Wanted): AsyncGenerator<SourceRecord> {
  let index = 0;
  for (const file of files)
    for await (const record of readRecords(file, wanted)) {
      const place = files.length > 1 ? `${basename(file)} ${record.place}` : record.place;
      yield { ...record, place, index: ++index };
    }
}

async function* entriesOf(
  { files, format, references, onRecord, unread }: Reading,
  style?: ListStyle,
): AsyncGenerator<DraftEntry> {
  const ids = new Ids();
  const unknown = new Set(references === 'optional' ? [] : references.keys());
  const rejected = (record: SourceRecord, why: string): Rejected => ({
    id: printable(idIn(record.json, format) ?? record.place, 80),
    reason: printable(`${record.place}: ${why}`),
  });
  for await (const record of recordsOf(files, new Set([...FIELDS, ...format.reads]))) {
    onRecord?.(record.index!);
    unknown.delete(idOf(record, format));
    try {
      const read = (id?: string): Draft => readDraft(record, format, references, style, id);
      const draft = read();
      for (const name of unreadTests(record.json, format)) unread.add(name);
      const { id, before } = ids.take(draft.problem, record.place, format.name !== 'gauntlet');
      unknown.delete(id ?? '');
      if (id === draft.problem.id) yield { id, draft };
      else if (id !== undefined) yield { id, draft: { ...draft, problem: { ...read(id).problem, id } } };
      else if (format.columns) yield rejected(record, `id \`${draft.problem.id}\` is taken by ${before}`);
      else {
        const why = `${record.place}: id \`${draft.problem.id}\` is taken by ${before}`;
        throw refuse(files.length > 1 ? '' : record.file, why);
      }
    } catch (error) {
      if (!(error instanceof UnusableRecord)) throw error;
      yield rejected(record, (format.name === 'gauntlet' && otherFormat(record.json)) || error.message);
    }
  }
  if (references === 'optional' || unknown.size === 0 || unknown.size < references.size) return;
  const some = (ids: Iterable<string>): string => [...ids].slice(0, 3).join(', ');
  const why = `none of its ids (${some(unknown)}) is an id of the problems (${some(ids.places.keys())})`;
  throw new GauntletError('BAD_INPUT', printable(`--references: ${why}`));
}

/** The ids of a set. Sets that were joined may count from 0 each: another problem with the same id gets a number. */
class Ids {
  readonly places = new Map<string, Map<string, string>>(); // by id and digest of the description

  /** @returns the id, or where it was before if it is the same problem, or if ids may not be numbered */
  take({ id, description }: Problem, place: string, isNumbered: boolean): { id?: string; before?: string } {
    const digest = createHash('sha256').update(description).digest('base64');
    const known = this.places.get(id) ?? new Map<string, string>();
    const before = known.get(digest) ?? (isNumbered ? undefined : [...known.values()][0]);
    if (before !== undefined) return { before };
    this.places.set(id, known.set(digest, place));
    if (known.size === 1) return { id };
    let number = known.size;
    while (this.places.has(`${id}#${number}`)) number++;
    this.places.set(`${id}#${number}`, new Map([[digest, place]]));
    return { id: `${id}#${number}` };
  }
}

/** By their names; a record without tests in them does not count. */
function unreadTests(json: unknown, format: ProblemFormat): string[] {
  const named = Object.entries(Object(json)).filter(([name]) => MAY_HOLD_TESTS.test(name));
  const filled = named.filter(([, value]) => (typeof value === 'string' ? value : Object.keys(Object(value)).length));
  const read = filled.length > 0 ? (format.fields?.(json) ?? format.reads) : [];
  return filled.map(([name]) => name).filter((name) => !read.includes(name));
}

/** @throws UnusableRecord */
function readDraft(
  record: SourceRecord,
  format: ProblemFormat,
  references: References,
  style?: ListStyle,
  id = idOf(record, format),
): Draft {
  if (references !== 'optional') return format.read(withReference(record, references, id), style);
  try {
    return format.read(record, style);
  } catch (error) {
    if (!(error instanceof UnusableRecord)) throw error;
    const json = { ...UNTESTED, ...(presentFields(record.json) as object) };
    const draft = format.read({ ...record, json }, style);
    const { referenceSolution: _, ...problem } = draft.problem;
    return { ...draft, problem };
  }
}

/** Why a record that is not in the format `gauntlet` cannot be used; undefined if it has the fields of no other format. */
function otherFormat(json: unknown): string | undefined {
  const name = recogniseFormat(json)?.name;
  return name === undefined || name === 'gauntlet' ? undefined : `is in the format ${name}, the file is in gauntlet's`;
}

function idIn(json: unknown, format: ProblemFormat): string | undefined {
  const { id, task_id, question_id, name } = (json ?? {}) as Record<string, unknown>;
  const found = [format.idOf?.(json), id, task_id, question_id, name].find(
    (one) => typeof one === 'number' || (typeof one === 'string' && one),
  );
  return found === undefined ? undefined : String(found);
}

const idOf = (record: SourceRecord, format: ProblemFormat): string =>
  idIn(record.json, format) ?? `problem-${record.index}`;

function withReference(record: SourceRecord, references: ReadonlyMap<string, string>, id: string): SourceRecord {
  const solution = references.get(id);
  if (solution === undefined) return record;
  return { ...record, json: { ...(record.json as object), reference_solution: solution, [GIVEN]: solution } };
}

/** JSON lines `{id, code}`. @throws GauntletError BAD_INPUT */
export async function readReferences(file: string): Promise<Map<string, string>> {
  const out = new Map<string, string>();
  for await (const { place, json } of readRecords(file)) {
    const { id, code } = (json ?? {}) as { id?: unknown; code?: unknown };
    if (typeof id !== 'string' || typeof code !== 'string') throw refuse(file, `${place}: expected {id, code}`);
    out.set(id, code);
  }
  return out;
}

// The problems of one or several files in any known format. A record that cannot be used is given with its reason. An error is thrown
// only if the file itself is wrong: a line is not JSON, two problems have one id, or no record can be used.
import { basename } from 'node:path';
import { GauntletError } from '../core/errors.js';
import type { Rejected } from '../core/schema/problem.js';
import {
  type Columns,
  type Draft,
  type FormatName,
  type ListStyle,
  type ProblemFormat,
  presentFields,
  UnusableRecord,
} from './formats/format.js';
import { FIELDS, formatOf, mappedFormat, recogniseFormat } from './formats/index.js';
import type { Wanted } from './parquetGroups.js';
import { printable, readRecords, refuse, type SourceRecord } from './records.js';

export type DraftEntry = { id: string; draft: Draft } | Rejected;

export type References = ReadonlyMap<string, string> | 'optional';

/** What stands for the solution and the tests of a problem that lacks them, so that its format can read it. */
export const UNTESTED = { reference_solution: 'pass', baseline_tests: [] };

export interface DraftFile {
  format: FormatName;
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
  /** @param style how list tests are read whose record does not tell */
  entries(style?: ListStyle): AsyncGenerator<DraftEntry>;
}

/** @throws GauntletError BAD_INPUT, one line that names file and place */
export async function entriesIn(files: readonly string[], options: ReadingOptions = {}): Promise<EntryFile> {
  const { references = new Map(), onRecord } = options;
  const format = await formatFor(files, options);
  const entries = (style?: ListStyle) => entriesOf({ files, format, references, onRecord }, style);
  return { files, format: format.name, entries };
}

/**
 * Reads the whole set once, so that a bad file is refused before anything is run.
 * @throws GauntletError BAD_INPUT, one line that names file and place
 */
export async function openDrafts(given: string | readonly string[], options: ReadingOptions = {}): Promise<DraftFile> {
  const { files, format, entries } = await entriesIn(typeof given === 'string' ? [given] : given, options);
  const styles = new Set<ListStyle>();
  let count = 0;
  let firstRejected: Rejected | undefined;
  let usable = 0;
  for await (const entry of entries()) {
    count++;
    if ('reason' in entry) firstRejected ??= entry;
    else {
      usable++;
      for (const style of entry.draft.listStyles ?? []) styles.add(style);
    }
  }
  if (usable === 0) throw refuse(files[0]!, `no record can be used; the first: ${firstRejected?.reason}`);
  const style = styles.size === 1 ? [...styles][0] : undefined;
  return { format, count, entries: () => entries(style) };
}

/** The format that is named; else that of the first record that has one, since a record may lack a field. */
async function formatFor(
  files: readonly string[],
  { format = 'auto', map, references }: ReadingOptions,
): Promise<ProblemFormat> {
  if (map === undefined) {
    return format === 'auto' ? recognise(files, references === 'optional') : formatOf(format);
  }
  const mapped = mappedFormat(formatOf(format === 'auto' ? 'columns' : format), map);
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
  { files, format, references, onRecord }: Reading,
  style?: ListStyle,
): AsyncGenerator<DraftEntry> {
  const places = new Map<string, string>(); // by id
  const rejected = (record: SourceRecord, why: string): Rejected => ({
    id: printable(idIn(record.json, format) ?? record.place, 80),
    reason: printable(`${record.place}: ${why}`),
  });
  for await (const record of recordsOf(files, new Set([...FIELDS, ...format.fields]))) {
    onRecord?.(record.index!);
    let draft: Draft;
    try {
      draft = readDraft(record, format, references, style);
    } catch (error) {
      if (!(error instanceof UnusableRecord)) throw error;
      yield rejected(record, (format.name === 'gauntlet' && otherFormat(record.json)) || error.message);
      continue;
    }
    const { id } = draft.problem;
    const before = places.get(id);
    if (before === undefined) {
      places.set(id, record.place);
      yield { id, draft };
    } else if (format.columns) yield rejected(record, `id \`${id}\` is taken by ${before}`);
    else throw refuse(files.length > 1 ? '' : record.file, `${record.place}: id \`${id}\` is taken by ${before}`);
  }
}

/** @throws UnusableRecord */
function readDraft(record: SourceRecord, format: ProblemFormat, references: References, style?: ListStyle): Draft {
  if (references !== 'optional') return format.read(withReference(record, format, references), style);
  try {
    return format.read(record, style);
  } catch (error) {
    if (!(error instanceof UnusableRecord)) throw error;
    const json = { ...UNTESTED, ...(presentFields(record.json) as Partial<typeof UNTESTED>) };
    const draft = format.read({ ...record, json }, style);
    const { referenceSolution, ...problem } = draft.problem;
    return json.reference_solution === UNTESTED.reference_solution ? { ...draft, problem } : draft;
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

function withReference(
  record: SourceRecord,
  format: ProblemFormat,
  references: ReadonlyMap<string, string>,
): SourceRecord {
  if (references.size === 0) return record;
  const solution = references.get(idIn(record.json, format) ?? `problem-${record.index}`);
  if (solution === undefined) return record;
  return { ...record, json: { ...(record.json as object), reference_solution: solution } };
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

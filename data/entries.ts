// The problems of one or several files in any known format, one after the other. A record that cannot be used is given with its
// reason. An error is thrown only if the files themselves are wrong: a line is not JSON, two problems have one id, or no record
// can be used.
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { GauntletError } from '../core/base/errors.js';
import type { Problem, Rejected } from '../core/schema/problem.js';
import {
  type Columns,
  type FormatName,
  type ListStyles,
  type ProblemFormat,
  UnusableRecord,
} from './formats/format.js';
import { FIELDS, formatOf, recogniseFormat } from './formats/index.js';
import { MAY_HOLD_TESTS, type Wanted } from './parquetGroups.js';
import { printable, readRecords, refuse, type SourceRecord } from './records.js';

/** The problem of a record, or why the record cannot be used. */
export type Entry = { problem: Problem } | Rejected;

export interface ReadingOptions {
  format?: FormatName | 'auto';
  /** Solutions by id, for formats without solutions. 'optional': a record may lack its solution and its tests. */
  references?: ReadonlyMap<string, string> | 'optional';
  /** Columns that replace those of the format. */
  map?: Columns;
  /** Called with the number of records that were read. */
  onRecord?(count: number): void;
}

/** @throws GauntletError BAD_INPUT, one line that names file and place */
export async function openEntries(files: string | readonly string[], options: ReadingOptions = {}): Promise<Entries> {
  const all = typeof files === 'string' ? [files] : files;
  return new Entries(all, await formatFor(all, options), options);
}

/** Iterates over the entries of a set of problems. Each iteration reads the files again, and no entry is kept in memory. */
export class Entries implements AsyncIterable<Entry> {
  /** The fields that may hold tests but are not read, in the records so far. */
  readonly unread = new Set<string>();
  private readonly styles: ListStyles = { certain: new Set() };
  private isStyleSought = false;

  constructor(
    private readonly files: readonly string[],
    private readonly known: ProblemFormat,
    private readonly options: ReadingOptions,
  ) {}

  get format(): FormatName {
    return this.known.name;
  }

  /** @throws GauntletError BAD_INPUT, one line that names file and place, at an entry or after the last one */
  async *[Symbol.asyncIterator](): AsyncGenerator<Entry> {
    const { references } = this.options;
    const ids = new Ids();
    const given = typeof references === 'object' ? [...references.keys()] : [];
    const unknown = new Set(given);
    let usable = 0;
    let first: Rejected | undefined;
    for await (const record of this.records()) {
      unknown.delete(idOf(record, this.known));
      const entry = await this.entryOf(record, ids);
      if ('problem' in entry) {
        unknown.delete(entry.problem.id);
        usable++;
      } else first ??= entry;
      yield entry;
    }
    if (given.length > 0 && unknown.size === given.length) {
      const some = (names: Iterable<string>): string => [...names].slice(0, 3).join(', ');
      const why = `none of its ids (${some(unknown)}) is an id of the problems (${some(ids.places.keys())})`;
      throw new GauntletError('BAD_INPUT', printable(`--references: ${why}`));
    }
    if (usable === 0) throw refuse(this.files[0]!, `no record can be used; the first: ${first?.reason}`);
  }

  private async *records(): AsyncGenerator<SourceRecord> {
    for await (const record of recordsOf(this.files, new Set([...FIELDS, ...this.known.fields()]))) {
      this.options.onRecord?.(record.index!);
      yield record;
    }
  }

  private async entryOf(record: SourceRecord, ids: Ids): Promise<Entry> {
    const { files, known } = this;
    try {
      const problem = await this.inStyleOfSet(record);
      for (const name of unreadTests(record.json, known)) this.unread.add(name);
      const { id, before } = ids.take(problem, record.place, known.name !== 'gauntlet');
      if (id === problem.id) return { problem };
      if (id !== undefined) return { problem: { ...this.problemOf(record, id), id } };
      const taken = `id \`${problem.id}\` is taken by ${before}`;
      if (known.columns) throw new UnusableRecord(taken);
      throw refuse(files.length > 1 ? '' : record.file, `${record.place}: ${taken}`);
    } catch (error) {
      if (!(error instanceof UnusableRecord)) throw error;
      const why = (known.name === 'gauntlet' && otherFormat(record.json)) || error.message;
      return {
        id: printable(idIn(record.json, known) ?? record.place, 80),
        reason: printable(`${record.place}: ${why}`),
      };
    }
  }

  /** Reads a record. If a list test is ambiguous, reads the whole set once more to find the style of its unambiguous list tests. */
  private async inStyleOfSet(record: SourceRecord): Promise<Problem> {
    try {
      return this.problemOf(record);
    } catch (error) {
      if (!(error instanceof UnusableRecord && error.isAmbiguous) || this.isStyleSought) throw error;
      this.isStyleSought = true;
      for await (const other of this.records())
        try {
          this.problemOf(other); // notes its style
        } catch (fault) {
          if (!(fault instanceof UnusableRecord)) throw fault;
        }
      const [style, ...more] = this.styles.certain;
      if (more.length === 0) this.styles.chosen = style;
      return this.problemOf(record);
    }
  }

  /** @throws UnusableRecord */
  private problemOf(record: SourceRecord, id = idOf(record, this.known)): Problem {
    const { known, styles } = this;
    const { references } = this.options;
    if (references !== 'optional') return known.read({ ...record, reference: references?.get(id) }, styles);
    try {
      return known.read(record, styles);
    } catch (error) {
      if (!(error instanceof UnusableRecord)) throw error;
      const { referenceSolution: _, ...problem } = known.read({ ...record, reference: null }, styles);
      return problem;
    }
  }
}

/** The named format, or the format of the first record that fits one: other records may lack the fields that tell the format. */
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

/** @param isOwn whether to assume the format `gauntlet` if no field tells, since problems that are only solved may lack fields */
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

/** The records of all files. With several files, a place begins with the name of its file. */
async function* recordsOf(files: readonly string[], wanted: Wanted): AsyncGenerator<SourceRecord> {
  let index = 0;
  for (const file of files)
    for await (const record of readRecords(file, wanted)) {
      const place = files.length > 1 ? `${basename(file)} ${record.place}` : record.place;
      yield { ...record, place, index: ++index };
    }
}

/** The ids of a set. A joined set may repeat ids, if its parts count from 0: a different problem with a known id gets a number. */
class Ids {
  readonly places = new Map<string, Map<string, string>>(); // the place of each problem, by id and digest of the description

  /** @returns the id; or the place of an earlier problem with this id, if it is the same problem or ids may not be numbered */
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

/** The fields of a record that are not read although their names suggest tests. Empty fields do not count. */
function unreadTests(json: unknown, format: ProblemFormat): string[] {
  const named = Object.entries(Object(json)).filter(([name]) => MAY_HOLD_TESTS.test(name));
  const filled = named.filter(([, value]) => (typeof value === 'string' ? value : Object.keys(Object(value)).length));
  const read = filled.length > 0 ? format.fields(json) : [];
  return filled.map(([name]) => name).filter((name) => !read.includes(name));
}

/** The reason why a record of another format than `gauntlet` cannot be used; undefined if it has the fields of no other format. */
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

// The problems of a file in any known format. A record that cannot be used is given with its reason. An error is thrown
// only if the file itself is wrong: a line is not JSON, two problems have one id, or no record can be used.
import type { Rejected } from '../core/schema/problem.js';
import {
  type Draft,
  FORMATS,
  type FormatName,
  type ListStyle,
  type ProblemFormat,
  presentFields,
  UnusableRecord,
} from './formats/format.js';
import { formatOf, recogniseFormat } from './formats/index.js';
import { printable, readRecords, refuse, type SourceRecord } from './records.js';

export type DraftEntry = { id: string; draft: Draft } | Rejected;

export type References = ReadonlyMap<string, string> | 'optional';

/** What stands for the solution and the tests of a problem that has none. Solving uses no solution. */
export const UNTESTED = { reference_solution: 'pass', baseline_tests: [] };

export interface DraftFile {
  format: FormatName;
  count: number; // of all records
  /** In the order of the file, which is read again at every call. */
  entries(): AsyncGenerator<DraftEntry>;
}

/**
 * Reads the whole file once, so that a bad file is refused before anything is run.
 * @param references solutions by id, for formats that have none; 'optional': a record may lack solution and tests
 * @throws GauntletError BAD_INPUT, one line that names file and place
 */
export async function openDrafts(
  file: string,
  formatName: FormatName | 'auto',
  references: References = new Map(),
): Promise<DraftFile> {
  const format = formatName === 'auto' ? await recognise(file) : formatOf(formatName);
  const styles = new Set<ListStyle>();
  let count = 0;
  let firstRejected: Rejected | undefined;
  let usable = 0;
  for await (const entry of entriesOf(file, format, references)) {
    count++;
    if ('reason' in entry) firstRejected ??= entry;
    else {
      usable++;
      for (const style of entry.draft.listStyles ?? []) styles.add(style);
    }
  }
  if (usable === 0) throw refuse(file, `no record can be used; the first: ${firstRejected?.reason}`);
  const style = styles.size === 1 ? [...styles][0] : undefined;
  return { format: format.name, count, entries: () => entriesOf(file, format, references, style) };
}

/** The format of the first record that has one, since a record may lack a field. */
async function recognise(file: string): Promise<ProblemFormat> {
  let first: SourceRecord | undefined;
  for await (const record of readRecords(file)) {
    const format = recogniseFormat(record.json);
    if (format) return format;
    first ??= record;
  }
  const { place, json } = first!; // a file without a record is refused by readRecords
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  const fields = isObject ? Object.keys(json).slice(0, 8).join(', ') || 'none' : 'not an object';
  throw refuse(file, `${place}: unknown format (its fields: ${fields}); name one with --format ${FORMATS.join('|')}`);
}

async function* entriesOf(
  file: string,
  format: ProblemFormat,
  references: References,
  style?: ListStyle,
): AsyncGenerator<DraftEntry> {
  const places = new Map<string, string>(); // by id
  for await (const record of readRecords(file)) {
    let draft: Draft;
    try {
      draft = format.read(withReference(record, references), style);
    } catch (error) {
      if (!(error instanceof UnusableRecord)) throw error;
      const id = idOf(record.json);
      const reason = format.name === 'gauntlet' ? (otherFormat(record.json) ?? error.message) : error.message;
      yield { id: printable(id ?? record.place, 80), reason: printable(`${record.place}: ${reason}`) };
      continue;
    }
    const { id } = draft.problem;
    const before = places.get(id);
    if (before !== undefined) throw refuse(file, `${record.place}: id \`${id}\` is taken by ${before}`);
    places.set(id, record.place);
    yield { id, draft };
  }
}

/** Why a record that is not in the format `gauntlet` cannot be used; undefined if it has the fields of no other format. */
function otherFormat(json: unknown): string | undefined {
  const name = recogniseFormat(json)?.name;
  if (name === undefined || name === 'gauntlet') return undefined;
  return `is in the format ${name}: convert the file with \`gauntlet problems import FILE --out own.jsonl\``;
}

function idOf(json: unknown): string | undefined {
  const { id, task_id, question_id, name } = (json ?? {}) as Record<string, unknown>;
  const found = [id, task_id, question_id, name].find(
    (one) => typeof one === 'number' || (typeof one === 'string' && one),
  );
  return found === undefined ? undefined : String(found);
}

function withReference(record: SourceRecord, references: References): SourceRecord {
  if (references === 'optional') return { ...record, json: { ...UNTESTED, ...(presentFields(record.json) as object) } };
  const solution = references.get(idOf(record.json) ?? '');
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

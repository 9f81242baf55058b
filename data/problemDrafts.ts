// The problems of a file in any known format, one after another. What cannot be used comes as a reason; what is wrong
// with the file itself is thrown.
import { GauntletError } from '../core/errors.js';
import { type Draft, type FormatName, type ProblemFormat, Unusable } from './formats/format.js';
import { formatOf, recogniseFormat } from './formats/index.js';
import { Ids, placeOf, readDraft } from './problemFile.js';
import { readRecords, refuse, type SourceRecord } from './records.js';

export type DraftEntry = { id: string } & ({ draft: Draft } | { reason: string });

export interface DraftFile {
  format: FormatName;
  count: number;
  /** In the order of the file; read anew at every call. */
  entries(): AsyncGenerator<DraftEntry>;
}

/**
 * Reads the whole file once, so that a bad line is known before anything is run.
 * @param references solutions by id, for formats that have none
 * @throws GauntletError BAD_INPUT naming file, line and field
 */
export async function openDrafts(
  file: string,
  asked: FormatName | 'auto',
  references: ReadonlyMap<string, string> = new Map(),
): Promise<DraftFile> {
  const format = asked === 'auto' ? await recognise(file) : formatOf(asked);
  const entries = (): AsyncGenerator<DraftEntry> => entriesOf(file, format, references);
  let count = 0;
  for await (const _ of entries()) count++;
  return { format: format.name, count, entries };
}

async function recognise(file: string): Promise<ProblemFormat> {
  for await (const { place, json } of readRecords(file)) {
    try {
      return recogniseFormat(json);
    } catch (error) {
      if (error instanceof GauntletError) throw refuse(file, `${place}: ${error.message}`);
      throw error;
    }
  }
  throw refuse(file, 'is empty');
}

async function* entriesOf(
  file: string,
  format: ProblemFormat,
  references: ReadonlyMap<string, string>,
): AsyncGenerator<DraftEntry> {
  const ids = new Ids();
  for await (const given of readRecords(file)) {
    const record = withReference(given, references);
    let entry: DraftEntry;
    try {
      const draft = readDraft(format, record);
      entry = { id: draft.problem.id, draft };
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      entry = { id: idOf(record.json) ?? placeOf(record), reason: error.message };
    }
    ids.take(entry.id, record);
    yield entry;
  }
}

const ID_FIELDS = ['id', 'task_id', 'question_id', 'name'] as const;

function idOf(json: unknown): string | undefined {
  const record = (json ?? {}) as Record<string, unknown>;
  const found = ID_FIELDS.map((field) => record[field]).find((id) => typeof id === 'string' || typeof id === 'number');
  return found === undefined ? undefined : String(found);
}

function withReference(record: SourceRecord, references: ReadonlyMap<string, string>): SourceRecord {
  const solution = references.get(idOf(record.json) ?? '');
  return solution === undefined
    ? record
    : { ...record, json: { ...(record.json as object), reference_solution: solution } };
}

/** JSON lines `{id, code}`. @throws GauntletError BAD_INPUT */
export async function readReferences(file: string): Promise<Map<string, string>> {
  const out = new Map<string, string>();
  for await (const { place, json } of readRecords(file)) {
    const { id, code } = (json ?? {}) as { id?: unknown; code?: unknown };
    if (typeof id !== 'string' || typeof code !== 'string') throw refuse(file, `${place}: {id, code} is expected`);
    out.set(id, code);
  }
  return out;
}

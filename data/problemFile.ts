// Problem files of people in the project's own schema, read strictly: what one problem of them cannot be used for stops
// the whole. `gauntlet problems import` makes such files of others. Every refusal is one line that names the file, the
// line or index, and the field.
import type { Problem } from '../core/schema/problem.js';
import { type Draft, FieldProblem, type ProblemFormat, Unusable } from './formats/format.js';
import { gauntlet } from './formats/gauntlet.js';
import { readRecords, refuse, type SourceRecord } from './records.js';

/** What to call a record in a message: its place, and its id where it has one. */
export function placeOf({ place, json }: SourceRecord): string {
  const { id, task_id } = (json ?? {}) as { id?: unknown; task_id?: unknown };
  const name = typeof id === 'string' ? id : task_id;
  return typeof name === 'string' ? `${place} (${name})` : place;
}

/** @throws GauntletError BAD_INPUT where a field is wrong; Unusable where the record is well formed */
export function readDraft(format: ProblemFormat, record: SourceRecord): Draft {
  try {
    return format.read(record);
  } catch (error) {
    if (error instanceof FieldProblem) throw refuse(record.file, `${placeOf(record)}: ${error.message}`);
    throw error;
  }
}

/** Refuses a second problem of one id. */
export class Ids {
  readonly #places = new Map<string, string>();
  take(id: string, { file, place }: SourceRecord): void {
    const before = this.#places.get(id);
    if (before !== undefined) throw refuse(file, `${place}: id \`${id}\` is taken by ${before}`);
    this.#places.set(id, place);
  }
}

/** Every problem of a file, in its order. @throws GauntletError BAD_INPUT */
export async function readProblemFile(file: string): Promise<Problem[]> {
  const problems: Problem[] = [];
  const ids = new Ids();
  for await (const record of readRecords(file)) {
    try {
      const { problem } = readDraft(gauntlet, record);
      ids.take(problem.id, record);
      problems.push(problem);
    } catch (error) {
      if (error instanceof Unusable) throw refuse(file, `${placeOf(record)}: ${error.message}`);
      throw error;
    }
  }
  return problems;
}

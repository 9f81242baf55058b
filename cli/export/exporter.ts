// What a format of `gauntlet export` is given, and what it returns.
import type { RunRecords } from '../../dashboard/data/records.js';
import type { ObjectStore } from '../../store/objectStore.js';

export interface ExportedRun {
  id: string;
  store: ObjectStore;
  records: RunRecords;
  startedAt: number; // ms since 1970
}

/** Paths in the folder of the export, and their contents. */
export type ExportedFiles = AsyncIterable<
  readonly [path: string, content: string | Uint8Array | AsyncIterable<string>]
>;

export type Exporter = (run: ExportedRun) => ExportedFiles;

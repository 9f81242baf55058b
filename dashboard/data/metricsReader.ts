// Reads the metrics of runs for pages that ask for them repeatedly. It keeps the parsed files of the latest runs and reads a
// file again only when the file has changed: a run has hundreds of files, and a step adds one or two.
import type { RunMetrics } from '../../core/schema/metrics.js';
import { Lru } from '../../ml/engine/budget.js';
import { listFolder } from '../../store/inventory.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { listMetrics, readAll, readMetricsFile } from '../../store/runs.js';

const KEPT = 8; // runs

interface Known {
  usedAt: number;
  record: RunMetrics;
}

export class MetricsReader {
  private readonly runs = new Lru<Map<string, Known>>(KEPT);

  constructor(private readonly store: ObjectStore) {}

  /** All metrics of a run by step. @throws GauntletError CORRUPT_ARTIFACT */
  async read(runId: string): Promise<RunMetrics[]> {
    const files = await listFolder(this.store, `runs/${runId}/metrics`);
    const usedAt = new Map(files.map((file) => [`metrics/${file.name}`, file.usedAt]));
    const before = this.runs.get(runId);
    const known = new Map<string, Known>();
    const records = await readAll(await listMetrics(this.store, runId), async (path) => {
      const present = before?.get(path);
      const at = usedAt.get(path); // undefined if the file was written or removed after the folder was listed
      const record =
        present !== undefined && present.usedAt === at
          ? present.record
          : await readMetricsFile(this.store, runId, path);
      if (record !== undefined && at !== undefined) known.set(path, { usedAt: at, record });
      return record;
    });
    this.runs.set(runId, known);
    return records;
  }
}

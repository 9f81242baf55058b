// Lists the runs. Keeps the summary of a run until its files change, so that a store with many runs opens fast.
import { inParallel } from '../../store/inParallel.js';
import type { ObjectStore } from '../../store/objectStore.js';
import type { RunList, RunSummary, Versions } from '../api.js';
import type { MetricsReader } from './metricsReader.js';
import { lastRecord, readRunRecords, summarise } from './records.js';

const FRESH_MS = 2000;
const UNREADABLE = { at: 0, version: 'unreadable' };
const NOTHING = '0 0'; // of a run that failed before it was prepared
type Last = Awaited<ReturnType<typeof lastRecord>>;

export class RunLister {
  private readonly known = new Map<string, { version: string; summary: RunSummary }>();
  private latest: { at: number; versions: Promise<Versions> } | undefined;

  constructor(
    private readonly store: ObjectStore,
    private readonly reader: MetricsReader,
  ) {}

  async list(): Promise<RunList> {
    const runs: RunSummary[] = [];
    for (const [id, { at, version }] of await this.lastRecords()) {
      const known = this.known.get(id);
      const summary = known?.version === version ? known.summary : await this.summaryOf(id, at);
      this.known.set(id, { version, summary });
      runs.push(summary);
    }
    return { runs: runs.sort((a, b) => b.recordedAt - a.recordedAt) };
  }

  /** A text for each run that changes whenever the run records something. Requests within `FRESH_MS` share one answer. */
  versions(): Promise<Versions> {
    const now = Date.now();
    if (this.latest === undefined || now - this.latest.at >= FRESH_MS)
      this.latest = { at: now, versions: this.readVersions() };
    return this.latest.versions;
  }

  private async readVersions(): Promise<Versions> {
    return { versions: Object.fromEntries((await this.lastRecords()).map(([id, { version }]) => [id, version])) };
  }

  private async lastRecords(): Promise<[id: string, Last][]> {
    const ids = await this.store.listRuns();
    const read = async (id: string) => [id, await lastRecord(this.store, id).catch(() => UNREADABLE)] as [string, Last];
    return (await inParallel(ids, read)).filter(([, { version }]) => version !== NOTHING);
  }

  /** Lists a damaged run with its problem, because it must not hide the other runs. */
  private async summaryOf(id: string, recordedAt: number): Promise<RunSummary> {
    try {
      return await summarise(this.store, id, await readRunRecords(this.store, id, this.reader), recordedAt);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      const none = { step: 0, totalSteps: 0, sampledTokens: 0, seconds: 0, curves: { passRate: [], validity: [] } };
      return { id, state: 'damaged', problem, model: '', ...none, recordedAt };
    }
  }
}

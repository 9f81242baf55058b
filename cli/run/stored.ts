// Reads a run from the store, which keeps it longer than the server does.
import type { RunConfig } from '../../core/schema/config.js';
import type { RunResult } from '../../core/schema/run.js';
import { readInput, readMetrics, readResult } from '../../store/runs.js';
import type { Store } from '../../store/store.js';

export interface StoredRun {
  steps: number; // the number of recorded policy updates
  result?: RunResult; // only set for a finished run
  input?: RunConfig;
}

/** Reads a run. Undefined if the store has no such run. @throws GauntletError CORRUPT_ARTIFACT */
export async function storedRun(store: Store, id: string): Promise<StoredRun | undefined> {
  if (!(await store.listRuns()).includes(id)) return undefined;
  const { result } = await readResult(store, id);
  const input = await readInput(store, id);
  const steps = await stepsDone(store, id);
  return { steps, result, input };
}

/** The number of recorded policy updates. */
export async function stepsDone(store: Store, id: string): Promise<number> {
  const metrics = await readMetrics(store, id);
  return metrics.reduce(
    (most, { kind, step }) => (kind === 'step' || kind === 'supervised' ? Math.max(most, step) : most),
    0,
  );
}

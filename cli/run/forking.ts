// Makes the id and the input of a run that starts at a checkpoint of another run.
import { merged } from '../../core/config/objects.js';
import { resolveConfig } from '../../core/config/presets.js';
import type { RunConfig } from '../../core/schema/config.js';
import { loadCheckpoint } from '../../store/checkpoints.js';
import { checkRunId } from '../../store/checks.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { readConfigAt, readInput } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import { checkPrograms, withPaths } from '../input/config.js';
import type { CheckpointId } from '../input/naming.js';

/**
 * The configuration of the run as it was at the checkpoint, changed by `fields`. Device, budget and failure handling are not
 * in the checkpoint, so they come from the input of the run.
 */
export async function forkInput(
  store: Store,
  { runId, name }: CheckpointId,
  fields: Record<string, unknown>,
): Promise<{ input: RunConfig; name: string }> {
  const { metadata } = await loadCheckpoint(store, runId, name);
  const config = await readConfigAt(store, metadata);
  const { engine, budget, failure } = (await readInput(store, runId)) ?? config;
  const start = { run: runId, checkpoint: metadata.name, schedule: 'rest' } as const;
  return {
    input: resolveConfig({ ...merged({ ...config, engine, budget, failure }, fields), start }),
    name: metadata.name,
  };
}

export async function prepareFork(
  store: ObjectStore,
  from: CheckpointId,
  fields: Record<string, unknown>,
  named?: string,
): Promise<{ id: string; input: RunConfig; name: string }> {
  const { input, name } = await forkInput(store, from, withPaths(fields));
  const id = named ?? `${from.runId}-from-${name.replace('checkpoint_', '')}`;
  checkRunId(id);
  await checkPrograms(input);
  return { id, input, name };
}

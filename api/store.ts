// The entry `gauntlet/store` of the package: the records and checkpoints of training runs.
import { openStore as open } from '../store/openStore.js';
import type { Store } from '../store/store.js';

export type { CheckpointMetadata } from '../core/schema/checkpoint.js';
export { bestCheckpoint, type Checkpoint, listCheckpoints, loadCheckpoint } from '../store/checkpoints.js';
export { type RunManifest, readMetrics, readResult, readRun } from '../store/runs.js';
export type { Digest, Store } from '../store/store.js';

/**
 * Opens the store at a folder, a file: URL or s3://BUCKET/PREFIX. The first write creates the folder; a bucket must exist.
 * @throws GauntletError BAD_CONFIG for another URL or a bucket that cannot be used, STORE_FAULT if reading fails
 */
export const openStore = (place?: string): Promise<Store> => open(place);

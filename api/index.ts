// The entry `gauntlet` of the package: whole training runs. api/engine.ts, api/sandbox.ts and api/store.ts are the other
// entries. docs/how-to/use-as-a-library.md has an example of each.
import { createCall } from '../activities/index.js';
import { ERROR_CODES, type ErrorCode, GauntletError } from '../core/base/errors.js';
import type { RunConfigInput, SandboxKind } from '../core/schema/config.js';
import type { RunProgress, RunResult } from '../core/schema/run.js';
import { checkRunId } from '../store/checks.js';
import { openDeps } from '../workers/deps/deps.js';
import { runPipeline as trainStages } from '../workflows/pipeline.js';
import { localHost } from '../workflows/runState.js';
import type { Device } from './engine.js';

export { resolveConfig } from '../core/config/presets.js';
export type { RunConfig, RunConfigInput } from '../core/schema/config.js';
export type { EvaluationRates, RunProgress, RunResult } from '../core/schema/run.js';
export { type ErrorCode, GauntletError };

export interface PipelineOptions {
  id: string; // names the run in its store: 1–200 characters of A–Z a–z 0–9 _ . : @ = + -
  config?: RunConfigInput; // fields that differ from the defaults; default: the preset 'tiny'
  store: string; // a folder, a file: URL or s3://BUCKET/PREFIX
  sandbox?: SandboxKind; // overrides the configuration, as do the next two
  device?: Device;
  threads?: number; // threads of the engine
  /** Called with the fields that change, at least once per step. */
  onProgress?: (progress: Partial<RunProgress>) => void;
}

/**
 * Trains in this process, without a Temporal server. It ends with the same adapters as `gauntlet train` with the same
 * configuration. Nothing is retried: after an error or a kill, call it again with the same arguments, and finished work is
 * read from the store. The options of the store, the engine and the sandbox are those of `gauntlet worker`.
 * @returns rates (0–1) on the test split before and after, and the digests of the best adapters
 * @throws GauntletError BAD_CONFIG | BAD_INPUT | BAD_MODEL | RUN_EXISTS | SANDBOX_UNAVAILABLE | … (docs/errors.md)
 */
export async function runPipeline({ id, config, onProgress, ...options }: PipelineOptions): Promise<RunResult> {
  checkRunId(id);
  const { deps, close } = await openDeps(options);
  try {
    return await trainStages({ ...localHost(createCall(deps)), ...(onProgress && { onProgress }) }, id, config);
  } catch (error) {
    const { type, message } = error as { type?: ErrorCode; message: string };
    throw type !== undefined && type in ERROR_CODES ? new GauntletError(type, message, { cause: error }) : error;
  } finally {
    await close();
  }
}

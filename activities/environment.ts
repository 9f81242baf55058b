// Compares the environment of this worker with the records of a run before the worker does work for the run.
import { readConfig } from '../chains/artifacts.js';
import { runOf } from '../chains/memoKey.js';
import type { Deps } from '../chains/scope.js';
import { GauntletError } from '../core/base/errors.js';
import type { Environment, EnvironmentPart } from '../core/schema/environment.js';
import { enterEnvironment, readEnvironments } from '../store/environments.js';
import { readRecord } from '../store/records.js';
import { MANIFEST } from '../store/runs.js';

const TRAINING = 'trainFullPipeline';
const ABSENT = /^(SANDBOX|DEVICE)_UNAVAILABLE$/; // retried after a first use: Docker and drivers may start after the worker

/**
 * Returns the facts of this worker for a part of the work; undefined if they are unknown or no run is given.
 * @throws GauntletError ENVIRONMENT_CHANGED
 */
export function environmentCheck(
  deps: Deps,
): (input: unknown, part: EnvironmentPart, workflowType?: string) => Promise<Facts> {
  const entered = new Set<string>(); // a key for each run and part that this worker has compared
  return async (input, part, workflowType = TRAINING) => {
    const run = runOf(input);
    if (run === undefined || deps.environment === undefined) return undefined;
    const config = await readConfig(deps.store, run);
    const { facts, details } = await deps.environment(part, config, run.engine).catch(async (error: GauntletError) => {
      const known = workflowType === TRAINING ? await readEnvironments(deps.store, run.runId, part) : [];
      if (known.length === 0 || !ABSENT.test(error.code)) throw error;
      throw new GauntletError('ENVIRONMENT_CHANGED', `run ${run.runId} has lost its ${part}: ${error.message}`);
    });
    const key = `${part} ${run.runId}`;
    // other workflows only read a run
    if (workflowType !== TRAINING || entered.has(key)) return facts;
    if ((await readRecord(deps.store, run.runId, MANIFEST)) === undefined) return facts; // the store has no such run
    try {
      await enterEnvironment(deps.store, run.runId, { part, facts, details }, deps.acceptsEnvironment ?? false);
    } catch (error) {
      const differs = error instanceof GauntletError && error.code === 'ENVIRONMENT_CHANGED';
      if (differs && part === 'sandbox') await deps.forgetFallback?.(config).catch(() => undefined);
      throw error;
    }
    entered.add(key);
    return facts;
  };
}

type Facts = Environment['facts'] | undefined;

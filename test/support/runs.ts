// Runs in this process, over activities that a test may replace.
import { type Activities, callOf } from '../../method/activities.js';
import { measure as measureByCall } from '../../workflows/evaluateCheckpoint.js';
import { runPipeline as runOnHost } from '../../workflows/pipeline.js';
import { localHost, type RunHost, type RunState } from '../../workflows/runState.js';
import { solve as solveByCall } from '../../workflows/solveProblems.js';

/** The parts of a run's host that a test sets. */
export interface RunHooks extends Partial<Omit<RunHost, 'requests'>> {
  requests?: Partial<RunHost['requests']>;
}

export function runPipeline(
  activities: Activities,
  runId: string,
  input?: unknown,
  { requests, ...hooks }: RunHooks = {},
  from?: RunState,
) {
  const host: RunHost = { ...localHost(callOf(activities)), ...hooks };
  if (requests)
    host.requests = {
      take: () => requests.take?.(),
      get isPaused() {
        return requests.isPaused ?? false;
      },
      close: () => requests.close?.(),
    };
  return runOnHost(host, runId, input, from);
}

export const measure = (activities: Activities, input: Parameters<typeof measureByCall>[1]) =>
  measureByCall(callOf(activities), input);

export const solve = (activities: Activities, input: Parameters<typeof solveByCall>[1]) =>
  solveByCall(callOf(activities), input);

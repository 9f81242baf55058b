// Failures of activities: describes them for people, and lets a person skip a step after a failure.
import { ActivityFailure, ApplicationFailure, isCancellation, TemporalFailure } from '@temporalio/workflow';
import { NO_USAGE } from '../core/run/budget.js';
import type { RunFailure } from '../core/schema/run.js';

/** Thrown if a person decides to skip the current step. No result of the step is kept. */
export class StepSkipped extends Error {
  spent = NO_USAGE; // what the step has used so far

  constructor(readonly reason: string) {
    super(`step skipped: ${reason}`);
  }
}

/** The failure at the root of an activity failure. */
function rootCause(error: unknown): unknown {
  let root = error;
  while (root instanceof TemporalFailure && !(root instanceof ApplicationFailure) && root.cause) root = root.cause;
  return root;
}

/** What failed, with the code and the message of the root cause. */
export function describeFailure(error: unknown, inStep = false): RunFailure {
  const activity = error instanceof ActivityFailure ? error.activityType : 'workflow';
  const root = rootCause(error) as Error;
  const code = root instanceof ApplicationFailure ? root.type : root.name;
  return { activity, code: code ?? 'Error', message: root.message, inStep };
}

/** Makes the root cause the failure of the workflow itself, so that the first line of the failure says what went wrong. */
export function unwrapFailure(error: unknown): unknown {
  const root = rootCause(error);
  if (isCancellation(error) || root === error || !(root instanceof ApplicationFailure)) return error;
  const { message, type } = root;
  return ApplicationFailure.create({ message, type: type ?? undefined, nonRetryable: true, cause: error as Error });
}

// A workflow that fails says why in its own first line, not three causes down.
import { ApplicationFailure, isCancellation, TemporalFailure } from '@temporalio/workflow';

/** The coded failure at the root of an activity's or a child's failure, as the workflow's own; else the error itself. */
export function plainFailure(error: unknown): unknown {
  if (isCancellation(error)) return error;
  let root = error;
  while (root instanceof TemporalFailure && !(root instanceof ApplicationFailure) && root.cause) root = root.cause;
  if (root === error || !(root instanceof ApplicationFailure)) return error;
  return ApplicationFailure.create({
    message: root.message,
    type: root.type ?? undefined,
    nonRetryable: true,
    cause: error as Error,
  });
}

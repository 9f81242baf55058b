// A workflow that fails says why in its own first line, not three causes down.
import { ApplicationFailure, isCancellation, TemporalFailure } from '@temporalio/workflow';

/** The failure at the root of an activity's or a child's failure. */
function causeOf(error: unknown): unknown {
  let root = error;
  while (root instanceof TemporalFailure && !(root instanceof ApplicationFailure) && root.cause) root = root.cause;
  return root;
}

/** Its code and its one line. */
export function rootOf(error: unknown): { type: string; message: string } {
  const root = causeOf(error);
  if (root instanceof ApplicationFailure) return { type: root.type ?? 'Error', message: root.message };
  return {
    type: root instanceof Error ? root.name : 'Error',
    message: root instanceof Error ? root.message : String(root),
  };
}

/** The coded failure at the root as the workflow's own; else the error itself. */
export function plainFailure(error: unknown): unknown {
  if (isCancellation(error)) return error;
  const root = causeOf(error);
  if (root === error || !(root instanceof ApplicationFailure)) return error;
  return ApplicationFailure.create({
    message: root.message,
    type: root.type ?? undefined,
    nonRetryable: true,
    cause: error as Error,
  });
}

// Converts errors to Temporal failures. Infrastructure faults are retryable; faults of input or logic are not. A cancelled
// attempt reports its cancellation.
import { ApplicationFailure, CancelledFailure, TemporalFailure } from '@temporalio/common';
import { ZodError } from 'zod';
import { GauntletError } from '../core/base/errors.js';

/** The `type` of a failure caused by a defect of this program. */
export const LOGIC_FAULT = 'LOGIC_FAULT';

const LOGIC_ERRORS = [TypeError, RangeError, ReferenceError, SyntaxError];
const NO_MEMORY = /^Array buffer allocation failed$/; // V8 throws a RangeError, but a retry may find free memory

export function toFailure(error: unknown, signal?: AbortSignal): Error {
  if (error instanceof TemporalFailure) return error;
  if (signal?.aborted) return new CancelledFailure('activity cancelled');
  if (error instanceof GauntletError) {
    return ApplicationFailure.create({ message: error.message, type: error.code, nonRetryable: !error.retryable });
  }
  if (error instanceof ZodError) {
    const issue = error.issues[0];
    const field = issue?.path.join('.') || 'input';
    return ApplicationFailure.create({ message: `${field}: ${issue?.message}`, type: 'BAD_INPUT', nonRetryable: true });
  }
  const cause = error instanceof Error ? error : new Error(String(error));
  const nonRetryable = LOGIC_ERRORS.some((kind) => cause instanceof kind) && !NO_MEMORY.test(cause.message);
  return ApplicationFailure.create({
    message: cause.message,
    type: nonRetryable ? LOGIC_FAULT : cause.name,
    nonRetryable,
    cause,
  });
}

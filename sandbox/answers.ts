// What the host keeps of answers. A program may return megabytes for every input, so each answer is reduced as soon as
// it is read. Answers that must be kept as values have a budget of memory.
import type { CallResult, ExecutionJob } from '../core/schema/execution.js';
import type { Value } from '../core/schema/value.js';

/** Estimated memory of the answers that are kept as values, of one program and of all programs of a batch. */
export const PROGRAM_BYTES = 32 << 20;
export const BATCH_BYTES = 256 << 20;

class TooLarge extends Error {}

/** A call with what its job keeps of the answer; the value itself if the job does not say. */
export function reduceCall<Kept>(job: ExecutionJob<Kept>, result: CallResult, call: number): CallResult<Kept> {
  if (result.kind !== 'value') return result;
  if (!job.reduce) return result as CallResult<Kept>;
  try {
    return { kind: 'value', value: job.reduce(result.value, call) };
  } catch (error) {
    if (error instanceof TooLarge) return { kind: 'error', message: error.message };
    throw error;
  }
}

/**
 * For `reduce` of a job: keeps the answers of one program. The first one beyond the budget and all later ones are errors,
 * however often the program runs.
 */
export function keepWithin(bytes: number): (answer: Value, call: number) => Value {
  const sizes: number[] = []; // one for each call
  return (answer, call) => {
    sizes.length = call; // calls from here on were those of an earlier run
    sizes[call] = sizeOf(answer);
    if (sizes.reduce((sum, size) => sum + size, 0) > bytes)
      throw new TooLarge(`the answers of the program need more than ${Math.floor(bytes / 1024)} KiB of memory`);
    return answer;
  };
}

/** An upper estimate of the bytes of a value in memory. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 32 + 2 * value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let size = 64;
  for (const item of Array.isArray(value) ? value : Object.values(value)) size += sizeOf(item);
  return size;
}

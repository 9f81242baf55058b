// Limits how much of the answers the host keeps. A program may return megabytes for every input, so each answer is reduced
// as soon as it is read. Answers that must be kept whole may use a limited amount of memory.
import type { CallResult, ExecutionJob } from '../core/schema/execution.js';
import type { Value } from '../core/schema/value.js';

/** The most memory, by an estimate, that whole answers of one program, and of all programs in a batch, may take. */
export const PROGRAM_BYTES = 32 << 20;
export const BATCH_BYTES = 256 << 20;

class TooLarge extends Error {}

/** Reduces the answer of a call as its job wants. Without `reduce`, the whole value is kept. */
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
 * A `reduce` that keeps whole answers of one program. The first answer beyond the limit and all later ones become errors.
 * The program may run again from any call; then its answers are counted anew from there.
 */
export function keepWithin(bytes: number): (answer: Value, call: number) => Value {
  const sizes: number[] = []; // the size of each answer
  return (answer, call) => {
    sizes.length = call; // forgets the later answers of an earlier run
    sizes[call] = sizeOf(answer);
    if (sizes.reduce((sum, size) => sum + size, 0) > bytes)
      throw new TooLarge(`the answers of the program need more than ${Math.floor(bytes / 1024)} KiB of memory`);
    return answer;
  };
}

/** Estimates how many bytes a value takes in memory, and rather too many than too few. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 32 + 2 * value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let size = 64;
  for (const item of Array.isArray(value) ? value : Object.values(value)) size += sizeOf(item);
  return size;
}

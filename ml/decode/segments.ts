// How the cache of a sequence is filled: the tokens of a prompt are read together, sampled tokens are fed one by one. The
// two ways round differently, so a cache that is computed again must be filled in the same segments as the first time.

export interface Segment {
  from: number;
  to: number; // exclusive
  steps: boolean; // filled token by token
}
export type Ranges = readonly (readonly [number, number])[];

/** The most tokens that are read together. Attention over a whole long prompt would not fit into memory. */
const PROMPT_BLOCK = 256;

/**
 * The segments of `length` tokens. The ranges in `sampled` are answers. A step feeds a token and samples the next one, so
 * the steps of an answer cover the tokens from the last one of its prompt to its last but one. A step feeds the final token.
 */
export function segmentsOf(length: number, sampled: Ranges = []): Segment[] {
  const segments: Segment[] = [];
  let at = 0;
  for (const [from, to] of [...sampled, [length, length + 1] as const]) {
    for (; at < from - 1; at = segments.at(-1)!.to)
      segments.push({ from: at, to: Math.min(at + PROMPT_BLOCK, from - 1), steps: false });
    const last = segments.at(-1);
    if (last?.steps) last.to = to - 1;
    else if (to - 1 > at) segments.push({ from: at, to: to - 1, steps: true });
    at = Math.max(at, to - 1);
  }
  return segments;
}

/** @returns what is wrong with the sampled ranges of a prompt; undefined if they are valid */
export function rangesFault(length: number, sampled: Ranges = []): string | undefined {
  let at = 1; // an answer has a prompt before it
  for (const [from, to] of sampled) {
    if (!(Number.isInteger(from) && Number.isInteger(to) && from >= at && to > from && to <= length))
      return `sampled range [${from}, ${to}) is not within [${at}, ${length}), the rest of the prompt`;
    at = to;
  }
  return undefined;
}

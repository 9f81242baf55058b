// How the places of a row's cache are filled: a prompt's tokens are read together, sampled tokens were fed one by one.
// The two ways round differently, so what is computed again must go the way it first went, segment by segment.

export interface Segment {
  from: number;
  to: number; // the first place after it
  steps: boolean; // token by token
}
export type Ranges = readonly (readonly [number, number])[];

/** Tokens read at once; attention over a whole long prompt would not fit into memory. */
const PROMPT_BLOCK = 256;

/**
 * The segments of `length` tokens, those of `sampled` ranges being answers. A step feeds the token before the one that
 * it samples: from a prompt's last token to an answer's last but one. The last token of all is fed by a step.
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

/** @returns what is wrong with the ranges of a prompt, undefined where nothing is */
export function rangesFault(length: number, sampled: Ranges = []): string | undefined {
  let at = 1; // an answer has a prompt before it
  for (const [from, to] of sampled) {
    if (!(Number.isInteger(from) && Number.isInteger(to) && from >= at && to > from && to <= length))
      return `sampled range [${from}, ${to}) is not within [${at}, ${length}), what is left of the prompt`;
    at = to;
  }
  return undefined;
}

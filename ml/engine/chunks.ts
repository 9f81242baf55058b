// Splits requests into parts. The split depends on the request only, so the assignment of parts to workers changes no result.

/** Indices sorted by length, then by index. */
export function byLength<R>(rows: readonly R[], length: (row: R) => number): number[] {
  return [...rows.keys()].sort((a, b) => length(rows[a]!) - length(rows[b]!) || a - b);
}

export function split<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}

/**
 * Splits rows into parts of similar length. A part has `size` rows, or the largest power of two that fits, at least one.
 */
export function partsByLength<R>(
  rows: readonly R[],
  length: (row: R) => number,
  size: number,
  fits: (sequences: number, length: number) => boolean,
): number[][] {
  const order = byLength(rows, length);
  const parts: number[][] = [];
  for (let at = 0; at < order.length; at += parts.at(-1)!.length) {
    let count = Math.min(size, order.length - at);
    while (count > 1 && !fits(count, length(rows[order[at + count - 1]!]!)))
      count = 2 ** Math.floor(Math.log2(count - 1));
    parts.push(order.slice(at, at + count));
  }
  return parts;
}

/**
 * Works on items in parts, given as indices sorted by length. The longest part comes first, so that no worker starts a
 * long one at the end. @returns results in the order of the items
 */
export async function inParts<R, T>(
  rows: readonly R[],
  parts: readonly number[][],
  work: (parts: R[][]) => Promise<T[][]>,
): Promise<T[]> {
  const order = [...parts].reverse();
  const done = await work(order.map((part) => part.map((i) => rows[i]!)));
  const results = new Array<T>(rows.length);
  order.forEach((part, p) => {
    part.forEach((i, j) => {
      results[i] = done[p]![j]!;
    });
  });
  return results;
}

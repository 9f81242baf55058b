// Splits requests into parts. The split depends on the request only, so the assignment of parts to workers changes no result.

/** Indices sorted by length, then by index. */
export function byLength<R>(rows: readonly R[], length: (row: R) => number): number[] {
  return [...rows.keys()].sort((a, b) => length(rows[a]!) - length(rows[b]!) || a - b);
}

export function split<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}

/**
 * Works on items in chunks of similar length, which reduces padding. The longest chunks come first, so that no worker
 * starts a long one at the end. @returns results in the order of the items
 */
export async function inChunks<R, T>(
  rows: readonly R[],
  length: (row: R) => number,
  size: number,
  work: (parts: R[][]) => Promise<T[][]>,
): Promise<T[]> {
  const order = split(byLength(rows, length), size).reverse();
  const done = await work(order.map((part) => part.map((i) => rows[i]!)));
  const results = new Array<T>(rows.length);
  order.forEach((part, p) => {
    part.forEach((i, j) => {
      results[i] = done[p]![j]!;
    });
  });
  return results;
}

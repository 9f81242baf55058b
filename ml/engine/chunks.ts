// A request as parts: what is together is a function of the request alone, so that no result shows who did which part.
import { GauntletError } from '../../core/errors.js';

export const lengthsOf = (rows: readonly { tokens: readonly number[] }[]): number[] =>
  rows.map((row) => row.tokens.length);

/** @throws {GauntletError} BAD_INPUT naming the first row that has a fault */
export function refuse<R>(rows: readonly R[], fault: (row: R) => string | undefined): void {
  rows.forEach((row, i) => {
    const what = fault(row);
    if (what !== undefined) throw new GauntletError('BAD_INPUT', `row ${i}: ${what}`);
  });
}

/** Indices in order of length, equal lengths in order of index. */
export function byLength<R>(rows: readonly R[], length: (row: R) => number): number[] {
  return [...rows.keys()].sort((a, b) => length(rows[a]!) - length(rows[b]!) || a - b);
}

export function split<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}

/** Rows of similar length together (less padding), longest first (no worker is left with the long ones at the end). */
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

/** One property of every row, or several properties as a list. */
export function pluck<T, K extends keyof T>(rows: Iterable<T>, name: K): T[K][];
export function pluck<T, K extends keyof T>(rows: Iterable<T>, ...names: K[]): T[K][][];
export function pluck<T, K extends keyof T>(rows: Iterable<T>, ...names: K[]): unknown[] {
  return Array.from(rows, (row) => (names.length === 1 ? row[names[0]!] : names.map((name) => row[name])));
}

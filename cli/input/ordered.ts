// Works on several rows at a time and yields results in row order. Reads no more rows than are at work.

/** @param window how many rows may be at work; a slow row delays the results of later rows, but not their work */
export async function* inOrder<T, R>(
  rows: AsyncIterable<T>,
  window: number,
  work: (row: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  for await (const row of rows) {
    const result = work(row);
    result.catch(() => undefined); // awaited below, unless the consumer stops; later failures then do not matter
    running.push(result);
    if (running.length >= window) yield await running.shift()!;
  }
  while (running.length > 0) yield await running.shift()!;
}

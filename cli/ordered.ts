// Work on a stream of rows, many at a time, results in the order of the rows; no more rows are read than are in work.

/** @param window rows in work at most; a slow one holds the results behind it back, not their work, within the window */
export async function* inOrder<T, R>(
  rows: AsyncIterable<T>,
  window: number,
  work: (row: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  try {
    for await (const row of rows) {
      const result = work(row);
      result.catch(() => undefined); // one that fails before its turn is heard of then, and must not end the process
      running.push(result);
      if (running.length >= window) yield await running.shift()!;
    }
    while (running.length > 0) yield await running.shift()!;
  } finally {
    void Promise.allSettled(running); // whoever stopped listening has seen a fault already
  }
}

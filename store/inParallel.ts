const AT_ONCE = 16; // a long run has thousands of files, and a bucket answers several requests in the time of one

/** Does the work for each item, a few at a time. @returns the results in the order of the items */
export async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries(); // one iterator for all
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await allEnded(Array.from({ length: AT_ONCE }, worker));
  return results;
}

/** Like Promise.all, but waits for all of them even if one fails. */
export async function allEnded<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

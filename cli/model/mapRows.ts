// What `logprobs` and `generate` share: one result per row, in order, in batches.
import { note } from '../output.js';
import { openRows } from './jsonLines.js';
import { openResults } from './results.js';

export interface RowFlags {
  input: string;
  output?: string;
}

/**
 * @param parse throws if a row is bad
 * @param work computes the results of a batch; `from` is the index of its first row in the input
 */
export async function mapRows<T>(
  { input, output }: RowFlags,
  parse: (row: unknown) => T,
  work: (batch: T[], from: number) => Promise<unknown[]>,
): Promise<void> {
  const rows = await openRows(input, parse);
  try {
    const results = await openResults(output);
    try {
      let done = 0;
      for await (const batch of rows.batches()) {
        for (const result of await work(batch, done)) await results.write(result);
        done += batch.length;
        if (rows.count > batch.length) note(`${done} of ${rows.count} rows`);
      }
      await results.commit();
    } finally {
      await results.close();
    }
  } finally {
    await rows.close();
  }
}

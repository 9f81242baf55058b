// What `logprobs` and `generate` have in common: rows in, as many results out, in order, batch by batch.
import { createOutput } from '../output.js';
import { openRows } from './jsonLines.js';
import { openResults } from './results.js';

export interface RowFlags {
  input: string;
  output?: string;
}

/**
 * @param parse throws what is wrong with a row
 * @param work results of a batch, the first row of which is row number `from` (from 0) of the input
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
        if (rows.count > batch.length) createOutput(true).note(`${done} of ${rows.count} rows`);
      }
      await results.commit();
    } finally {
      await results.close();
    }
  } finally {
    await rows.close();
  }
}

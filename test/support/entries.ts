// Reads a whole set of problems, as a test wants it.
import { type Entries, type Entry, openEntries } from '../../data/entries.js';

export interface WholeSet extends Pick<Entries, 'format' | 'unread'> {
  entries: Entry[];
  problems: Extract<Entry, { problem: unknown }>['problem'][];
}

export async function readSet(...given: Parameters<typeof openEntries>): Promise<WholeSet> {
  const set = await openEntries(...given);
  const entries: Entry[] = [];
  for await (const entry of set) entries.push(entry);
  const problems = entries.flatMap((entry) => ('problem' in entry ? [entry.problem] : []));
  return { format: set.format, unread: set.unread, entries, problems };
}

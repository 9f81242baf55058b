// The thread that reads the problems of a run: reading and parsing a large set would block the event loop of a worker for
// minutes. It sends them in batches, so that no copy of the whole set is made. Errors lose their class between threads, so an
// error is a message.
import { parentPort, workerData } from 'node:worker_threads';
import { type ErrorCode, GauntletError } from '../../core/base/errors.js';
import { type Entry, openEntries } from '../../data/entries.js';
import { parseSource, readingOptions } from '../../data/source.js';

export interface ProblemsTask {
  source: string;
  files: string[]; // the files of the source, which are on this machine
}
export type ProblemsMessage = { entries: Entry[] } | { done: true } | { code: ErrorCode; message: string };

const BATCH = 200;

async function read({ source, files }: ProblemsTask): Promise<void> {
  const post = (message: ProblemsMessage): void => parentPort!.postMessage(message);
  let entries: Entry[] = [];
  const send = (): void => {
    post({ entries });
    entries = [];
  };
  const onRecord = (count: number): void => {
    if (count % BATCH === 0) send(); // sends even an empty batch, which shows progress
  };
  try {
    const options = await readingOptions(parseSource(source));
    for await (const entry of await openEntries(files, { ...options, onRecord })) entries.push(entry);
    send();
    post({ done: true });
  } catch (error) {
    if (!(error instanceof GauntletError)) throw error;
    post({ code: error.code, message: error.message });
  }
}

await read(workerData as ProblemsTask);

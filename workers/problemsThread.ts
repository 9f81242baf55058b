// The thread that reads the problems of a run: reading and parsing a large set would block the event loop of a worker for
// minutes. It sends them in batches, so that no copy of the whole set is made. Errors lose their class between threads, so an
// error is a message.
import { parentPort, workerData } from 'node:worker_threads';
import { type ErrorCode, GauntletError } from '../core/errors.js';
import type { Problem, Rejected } from '../core/schema/problem.js';
import { entriesIn, readEntries } from '../data/problemDrafts.js';
import { parseSource, readingOptions } from '../data/source.js';

export interface ProblemsTask {
  source: string;
  files: string[]; // of the source, which are on this machine
}
export type ProblemsMessage =
  | { begin: true } // a new pass: what was sent before does not count
  | { problems: Problem[]; rejected: Rejected[] }
  | { done: true }
  | { code: ErrorCode; message: string };

const BATCH = 200;

async function read({ source, files }: ProblemsTask): Promise<void> {
  const post = (message: ProblemsMessage): void => parentPort!.postMessage(message);
  let [problems, rejected]: [Problem[], Rejected[]] = [[], []];
  const send = (least: number): void => {
    if (problems.length + rejected.length < least) return;
    post({ problems, rejected });
    [problems, rejected] = [[], []];
  };
  try {
    await readEntries(await entriesIn(files, await readingOptions(parseSource(source))), {
      begin: () => {
        [problems, rejected] = [[], []];
        post({ begin: true });
      },
      problem: (problem) => {
        problems.push(problem);
        send(BATCH);
      },
      rejected: (record) => {
        rejected.push(record);
        send(BATCH);
      },
    });
    send(1);
    post({ done: true });
  } catch (error) {
    if (!(error instanceof GauntletError)) throw error;
    post({ code: error.code, message: error.message });
  }
}

await read(workerData as ProblemsTask);

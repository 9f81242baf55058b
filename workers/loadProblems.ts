// The problems of a run, read in a thread of their own.
import { GauntletError } from '../core/errors.js';
import { isBuiltIn, type ProblemSet } from '../core/schema/problem.js';
import type { Reader } from '../data/problemDrafts.js';
import { collected, loadProblems } from '../data/problems.js';
import { parseSource, provideSource, sourceText } from '../data/source.js';
import { startThread } from '../infra/scripts.js';
import type { ProblemsMessage, ProblemsTask } from './problemsThread.js';

type Options = Partial<{
  onProgress(): void; // called while a data set is downloaded, and while its problems are read
  signal: AbortSignal | undefined; // ends the thread
}>;

export async function loadInThread(text: string, options: Options = {}): Promise<ProblemSet> {
  if (isBuiltIn(text)) return loadProblems(text);
  // downloads stay in this thread, which does one at a time for each data set
  const { files, source } = await provideSource(parseSource(text), options.onProgress);
  return collected((reader) => readInThread({ files, source: sourceText(source) }, reader, options));
}

function readInThread(task: ProblemsTask, reader: Reader, { onProgress, signal }: Options): Promise<void> {
  return new Promise((resolve, reject) => {
    const thread = startThread(new URL('./problemsThread.js', import.meta.url), task, signal);
    thread.on('message', (message: ProblemsMessage) => {
      onProgress?.();
      if ('begin' in message) reader.begin();
      else if ('problems' in message) {
        for (const problem of message.problems) reader.problem(problem);
        for (const record of message.rejected) reader.rejected(record);
      } else if ('done' in message) resolve();
      else reject(new GauntletError(message.code, message.message));
    });
    thread.once('error', reject);
    thread.once('exit', (status) => reject(new Error(`the thread of ${task.source} ended (exit status ${status})`)));
  });
}

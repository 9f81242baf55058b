// Reads the problems of a run in a separate thread.
import { GauntletError } from '../../core/base/errors.js';
import { isBuiltIn, type ProblemSet } from '../../core/schema/problem.js';
import type { Entry } from '../../data/entries.js';
import { loadProblems, setOf } from '../../data/problems.js';
import { parseSource, provideSource, sourceText } from '../../data/source.js';
import { startThread } from '../../infra/scripts.js';
import type { ProblemsMessage, ProblemsTask } from './problemsThread.js';

type Options = Partial<{
  onProgress(): void; // called while a data set is downloaded, and while its problems are read
  signal: AbortSignal | undefined; // ends the thread
}>;

export async function loadInThread(text: string, options: Options = {}): Promise<ProblemSet> {
  if (isBuiltIn(text)) return loadProblems(text);
  // downloads stay in this thread, which does one at a time for each data set
  const { files, source } = await provideSource(parseSource(text), options.onProgress);
  return setOf(await readInThread({ files, source: sourceText(source) }, options));
}

function readInThread(task: ProblemsTask, { onProgress, signal }: Options): Promise<Entry[]> {
  const entries: Entry[] = [];
  return new Promise((resolve, reject) => {
    const thread = startThread(new URL('./problemsThread.js', import.meta.url), task, signal);
    thread.on('message', (message: ProblemsMessage) => {
      onProgress?.();
      if ('entries' in message) for (const entry of message.entries) entries.push(entry);
      else if ('done' in message) resolve(entries);
      else reject(new GauntletError(message.code, message.message));
    });
    thread.once('error', reject);
    thread.once('exit', (status) => reject(new Error(`the thread of ${task.source} ended (exit status ${status})`)));
  });
}

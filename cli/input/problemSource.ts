// The problems of `gauntlet solve`: built-in ones, or those of a file, a folder of files, or standard input. And what other
// commands say about a problem file.
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { GauntletError } from '../../core/errors.js';
import type { Ref } from '../../core/ref.js';
import { isBuiltIn, type Rejected } from '../../core/schema/problem.js';
import { checkProblems, loadProblems } from '../../data/problems.js';
import { readTasks, type Task } from '../../inference/tasks.js';
import type { Store } from '../../store/store.js';
import { counted, type Output } from '../terminal/output.js';
import { rereadable } from './jsonLines.js';

const PROBLEM_FILE = /\.jsonl?(\.gz)?$/;

/** @param skip is told of every record that cannot be used. @throws GauntletError BAD_INPUT */
export async function readSource(source: string, skip: (id: string, reason: string) => void): Promise<Task[]> {
  if (isBuiltIn(source)) return (await loadProblems(source)).test;
  const tasks: Task[] = [];
  for (const path of await filesOf(source)) {
    const read = await withProblemFile(path, readTasks);
    for (const { id, reason } of read.rejected) skip(id, reason);
    const twice = read.tasks.find(({ id }) => tasks.some((task) => task.id === id));
    if (twice) throw new GauntletError('BAD_INPUT', `${path}: id \`${twice.id}\` is also in another file`);
    tasks.push(...read.tasks);
  }
  return tasks;
}

/** Tells what of a run's problem file is not measured. @throws GauntletError BAD_INPUT */
export async function noteProblems(source: string, note: Output['note']): Promise<void> {
  const kind = await stat(source).catch(() => undefined);
  if (kind?.isFIFO() || kind?.isSocket() || (kind === undefined && basename(source) === '-')) {
    const why = 'a run reads its problems more than once, also after a restart';
    throw new GauntletError('BAD_INPUT', `problems: ${why}: write them to a file instead of a pipe`);
  }
  const { rejected, untested } = await checkProblems(source);
  for (const { id, reason } of rejected) note(`skipped ${id}: ${reason}`);
  if (untested > 0) note(`${counted(untested, 'problem')} without tests: no program counts as a solution`);
}

/** Tells which problems a workflow left out. */
export async function noteSkipped(
  store: Store,
  skipped: Ref<Rejected[]> | undefined,
  note: Output['note'],
): Promise<void> {
  if (skipped === undefined) return;
  for (const { id, reason } of await store.getJson(skipped)) note(`skipped ${id}: ${reason}`);
}

/** Passes on a problem file that can be read several times: a copy of a pipe, or of standard input for `-`. */
export async function withProblemFile<T>(path: string, use: (file: string) => Promise<T>): Promise<T> {
  const kind = path === '-' ? undefined : await stat(path).catch(() => undefined);
  if (path !== '-' && !kind?.isFIFO() && !kind?.isSocket()) return use(path);
  const { file, close } = await rereadable(path);
  try {
    return await use(file);
  } finally {
    await close();
  }
}

async function filesOf(source: string): Promise<string[]> {
  const isFolder = source !== '-' && (await stat(source).catch(() => undefined))?.isDirectory();
  if (!isFolder) return [source];
  const names = (await readdir(source)).filter((name) => PROBLEM_FILE.test(name)).sort();
  if (names.length > 0) return names.map((name) => join(source, name));
  throw new GauntletError('BAD_INPUT', `${source}: has no problem files (*.json, *.jsonl, also with .gz)`);
}

// Writes a folder atomically: under another name first, then renamed. A crash leaves the old folder or the new one.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import { isAlive } from '../../infra/lock.mjs';
import { syncFolder } from '../../store/syncFolder.js';

export interface Target {
  marker: string; // a folder with this file is of the right kind and may be replaced
  kind: string; // the name of this kind in messages, such as 'model folder'
  replace: boolean; // if false, an existing folder is refused
}

/** Fails early if a folder cannot be written or holds something else. @throws {GauntletError} BAD_INPUT */
export function checkTarget(folder: string, { marker, kind, replace }: Target): void {
  const fail = (what: string): never => {
    throw new GauntletError('BAD_INPUT', `--out ${folder}: ${what}`);
  };
  let parent = dirname(resolve(folder));
  while (!existsSync(parent)) parent = dirname(parent);
  if (!statSync(parent).isDirectory()) fail(`${parent} is no folder`);
  if (!existsSync(folder)) return;
  if (!statSync(folder).isDirectory()) fail('it is a file, a folder is needed');
  if (readdirSync(folder).length === 0) return;
  if (!existsSync(join(folder, marker))) fail(`it exists and is no ${kind}`);
  if (!replace) fail('it exists; choose another folder, or replace it with --overwrite');
}

type Files = Iterable<Entry> | AsyncIterable<Entry>;
type Content = string | Uint8Array | AsyncIterable<string> | Iterable<Uint8Array>;
type Entry = readonly [path: string, content: Content];

const HOUR_MS = 3_600_000;

/**
 * Returns a path beside `target` for the new content, which then replaces it. Removes the files of killed processes that are
 * an hour old: no living process writes for so long without touching its file.
 */
export async function freshPath(target: string): Promise<string> {
  for (const name of await readdir(dirname(target)).catch(() => [])) {
    const pid = name.startsWith(`${basename(target)}.new-`) ? Number(name.split('-').at(-1)) : 0;
    const path = join(dirname(target), name);
    const isLeft = pid > 0 && !isAlive(pid) && Date.now() - statSync(path).mtimeMs > HOUR_MS;
    if (isLeft) await rm(path, { recursive: true, force: true });
  }
  return `${target}.new-${process.pid}`;
}

/** Writes and syncs all files in a new folder beside `folder`, then swaps the two. */
export async function writeFolder(folder: string, files: Files): Promise<void> {
  const target = resolve(folder);
  const fresh = await freshPath(target);
  const old = `${target}.old-${process.pid}`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  try {
    const folders = new Set([fresh]);
    for await (const [name, content] of files) {
      const path = join(fresh, name);
      await mkdir(dirname(path), { recursive: true });
      folders.add(dirname(path));
      await writeFile(path, content, { flush: true });
    }
    for (const each of folders) await syncFolder(each);
    if (existsSync(target)) await rename(target, old);
    await rename(fresh, target);
    await syncFolder(dirname(target));
  } finally {
    await rm(fresh, { recursive: true, force: true });
    if (existsSync(target)) await rm(old, { recursive: true, force: true });
  }
}

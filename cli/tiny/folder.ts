// A model folder written whole: under another name first, then swapped in, so that no reader sees half of it.
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { GauntletError } from '../../core/errors.js';

/** Fails early where a folder could not be written or holds something that is not a model. @throws BAD_INPUT */
export function checkTarget(folder: string): void {
  if (!existsSync(dirname(resolve(folder)))) {
    throw new GauntletError('BAD_INPUT', `--out ${folder}: there is no folder ${dirname(resolve(folder))}`);
  }
  if (existsSync(folder) && !existsSync(join(folder, 'config.json'))) {
    throw new GauntletError('BAD_INPUT', `--out ${folder}: it exists and is no model folder, so it is left alone`);
  }
}

/** Writes every file into a fresh folder beside `folder`, and swaps the two. */
export async function writeFolder(folder: string, files: ReadonlyMap<string, string | Uint8Array>): Promise<void> {
  const fresh = `${resolve(folder)}.new-${process.pid}`;
  const old = `${resolve(folder)}.old-${process.pid}`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  try {
    for (const [name, content] of files) await writeFile(join(fresh, name), content);
    if (existsSync(folder)) await rename(folder, old);
    await rename(fresh, folder);
  } finally {
    await rm(fresh, { recursive: true, force: true });
    if (existsSync(folder)) await rm(old, { recursive: true, force: true });
  }
}

// The folder in which the rollout server finds adapters. The name of an adapter contains its digest.
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';

export interface ServedAdapter {
  name: string;
  /** PEFT's files by name. */
  files: ReadonlyMap<string, Uint8Array>;
}

/** Writes the folder whole or not at all. An existing one is replaced, because it may be damaged. */
export async function publishAdapter(parent: string, { name, files }: ServedAdapter): Promise<string> {
  const target = join(parent, name);
  try {
    await mkdir(parent, { recursive: true });
    const temporary = await mkdtemp(join(parent, '.new-'));
    const folder = join(temporary, name); // mkdtemp makes folders that only their owner can read
    await mkdir(folder);
    for (const [file, bytes] of files) await writeFile(join(folder, file), bytes, { flush: true });
    await rm(target, { recursive: true, force: true });
    await rename(folder, target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error; // else another worker has just written it
    });
    await rm(temporary, { recursive: true });
    return target;
  } catch (error) {
    throw new GauntletError('ENDPOINT_FAULT', `rollouts.adapters: cannot write ${target}: ${(error as Error).message}`);
  }
}

// Packages of PyPI in the cache of this machine, each fetched once.
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Wheel } from '../infra/cudaPackages.js';
import { withPackage } from '../infra/pypi.mjs';
import { cacheFolder } from '../ml/hf/files.js';

export type Say = (line: string) => void;

/** Where a package is kept. */
export const cached = ({ name, version }: Wheel): string => join(cacheFolder(), `${name}-${version}`);

/** The folder of a package in the cache, fetched once. */
export async function fetched(wheel: Wheel, say: Say): Promise<string> {
  const target = cached(wheel);
  if (!existsSync(target)) {
    say(`fetching ${wheel.name} ${wheel.version}`);
    await withPackage(wheel, target, (unpacked: string) => {
      if (!existsSync(target)) renameSync(join(unpacked, wheel.folder), target); // or another process was faster
    });
  }
  return target;
}

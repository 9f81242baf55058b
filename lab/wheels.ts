// Fetches packages from PyPI, each once, into the cache of this machine.
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Wheel } from '../infra/cudaPackages.js';
import { withPackage } from '../infra/pypi.mjs';
import { cacheFolder } from '../ml/hf/files.js';

export type Say = (line: string) => void;

/** The folder in which a package is kept. */
export const cached = ({ name, version }: Wheel): string => join(cacheFolder(), `${name}-${version}`);

/** The folder of a package in the cache. Fetches the package if it is not there. */
export async function fetched(wheel: Wheel, say: Say): Promise<string> {
  const target = cached(wheel);
  if (!existsSync(target)) {
    say(`fetching ${wheel.name} ${wheel.version}`);
    await withPackage(wheel, target, (unpacked: string) => {
      if (!existsSync(target)) renameSync(join(unpacked, wheel.folder), target); // otherwise another process was faster
    });
  }
  return target;
}

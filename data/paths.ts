// Paths of shipped data, relative to this module so that they work from the checkout and from dist.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GauntletError } from '../core/errors.js';

/** The folder that holds package.json. @throws GauntletError NOT_FOUND */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new GauntletError('NOT_FOUND', 'no package.json above the data module');
    folder = parent;
  }
  return folder;
}

/** The shipped base model of a family ('tiny', 'nested'), in Hugging Face layout. */
export const shippedModelPath = (family: string): string => join(packageRoot(), 'data', `${family}-model`);

// The folder of the checkout, for modules here and for their copies in dist/infra.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

function find() {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    if (dirname(folder) === folder) throw new Error('no package.json above the program: run it inside a checkout');
    folder = dirname(folder);
  }
  return folder;
}

export const ROOT = find();

// Reads the files of the pages that the build wrote.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GauntletError } from '../core/base/errors.js';
import { ROOT } from '../infra/root.mjs';

/** File name → content type. */
export const PAGE_FILES = {
  'index.html': 'text/html; charset=utf-8',
  'main.js': 'text/javascript; charset=utf-8',
  'main.css': 'text/css; charset=utf-8',
} as const;
export type PageFile = keyof typeof PAGE_FILES;

/** @throws GauntletError NOT_FOUND */
export async function pageFiles(): Promise<Map<string, Buffer>> {
  const folder = join(ROOT, 'dist/dashboard/web');
  const names = Object.keys(PAGE_FILES);
  try {
    const contents = await Promise.all(names.map((name) => readFile(join(folder, name))));
    return new Map(names.map((name, i) => [name, contents[i]!]));
  } catch {
    throw new GauntletError('NOT_FOUND', `no pages in ${folder}: run npm run build`);
  }
}

// Compares the contents of node_modules with the lock file. File times do not help, because a checkout changes all of them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** npm writes node_modules/.package-lock.json last, so an interrupted installation does not have it. */
export function packagesAreFresh(root) {
  const wanted = packagesOf(join(root, 'package-lock.json'));
  const present = packagesOf(join(root, 'node_modules', '.package-lock.json'));
  if (wanted === undefined) throw new Error(`${root} has no package-lock.json`);
  if (present === undefined) return false;
  return Object.entries(wanted).every(([path, { version, optional, peer }]) => {
    if (path === '') return true; // this project itself
    if (present[path] === undefined) return optional === true || peer === true; // such as a binary for another system
    return present[path].version === version;
  });
}

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

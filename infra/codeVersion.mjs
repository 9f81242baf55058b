// The version of the built code. tools/build-stamp.mjs writes it into dist/.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @param {string} root */
export const versionFile = (root) => join(root, 'dist', '.version');

/**
 * The version of the built code, such as 0.2.0+1d909da12345, with -dirty for changed files. Without a git repository:
 * 0.2.0+sources.1a2b3c4d5e6f, a digest of the sources. Needs no git.
 * @param {string} root
 * @returns {string}
 */
export function codeVersion(root) {
  if (existsSync(versionFile(root))) return readFileSync(versionFile(root), 'utf8');
  return `${JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version}+unknown`; // built by a bare `tsc`
}

// What git knows of the last release: its tag, or without tags (a shallow clone has none) the commit that tools/sizes.json records.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @returns {string} what git prints, or '' if it fails */
export function git(root, ...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 });
  return status === 0 ? stdout : '';
}

/** The tag or the commit of the last release before HEAD. */
export const lastRelease = (root) =>
  git(root, 'describe', '--tags', '--abbrev=0', '--match=v*', 'HEAD^').trim() || readSizes(root).release.commit;

export const readSizes = (root) => JSON.parse(readFileSync(join(root, 'tools', 'sizes.json'), 'utf8'));

// Prints the lines of code of each folder. Fails if a folder exceeds its limit in tools/sizes.json, or a limit that of the last
// release, so that limits only fall. A clone may have no tags and no history, so tools/sizes.json has the limits of the release, too;
// the first commit after a release copies them.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { ROOT } from '../infra/root.mjs';

const CODE = /\.(ts|tsx|mts|mjs|cjs|js|py)$/;
const EXCEPTION = /^- Size: (\S+) may have ([\d,]+) lines, because .+ asked for \S/gm;

const readSizes = (root) => JSON.parse(readFileSync(join(root, 'tools', 'sizes.json'), 'utf8'));

/** The tag of the last release before HEAD; in a clone without tags, the commit that tools/sizes.json records. */
export const lastRelease = (root) =>
  git(root, 'describe', '--tags', '--abbrev=0', '--match=v*', 'HEAD^').trim() || readSizes(root).release.commit;

/** @returns {string} the output of git, or '' if it fails */
export function git(root, ...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 });
  return status === 0 ? stdout : '';
}

/** @returns {Map<string, number>} lines by top-level folder; empty outside a checkout */
function countLines(root) {
  const lines = new Map();
  for (const path of git(root, 'ls-files', '-z').split('\0')) {
    if (!CODE.test(path) || !path.includes('/')) continue;
    if (!existsSync(join(root, path))) continue; // the file was removed, but not committed yet
    const folder = path.slice(0, path.indexOf('/'));
    const count = readFileSync(join(root, path), 'utf8').split('\n').length - 1;
    lines.set(folder, (lines.get(folder) ?? 0) + count);
  }
  return lines;
}

/** @returns {{ report: string[], problems: string[] }} one line for each folder and each problem */
export function checkSizes(root = ROOT) {
  const { release, ...limits } = readSizes(root);
  const problems = [];
  const report = [...countLines(root)]
    .sort(([, a], [, b]) => b - a)
    .map(([folder, lines]) => {
      const limit = limits[folder];
      if (limit === undefined && !folder.startsWith('.')) problems.push(`${folder}/ has no limit in tools/sizes.json`);
      if (lines > limit)
        problems.push(`${folder}/ has ${lines} lines, ${lines - limit} more than its limit in tools/sizes.json`);
      return `${folder.padEnd(12)} ${String(lines).padStart(6)} of ${limit ?? '-'}`;
    });

  const exceptions = exceptionsIn(root);
  for (const [folder, limit] of Object.entries(limits)) {
    const most = exceptions.get(folder) ?? release.limits[folder] ?? 0;
    if (limit > most)
      problems.push(
        `tools/sizes.json: ${folder} has ${limit}, and ${most} at the last release: shorten it, or say in this version's section of ` +
          `CHANGELOG.md '- Size: ${folder} may have ${limit} lines, because USER asked for …'`,
      );
  }
  const stored = git(root, 'show', `${lastRelease(root)}:tools/sizes.json`);
  if (stored !== '') {
    const { release: _, ...released } = JSON.parse(stored);
    if (!isDeepStrictEqual(released, release.limits))
      problems.push(`tools/sizes.json: release.limits differs from the limits of ${lastRelease(root)}: copy them`);
  }
  return { report, problems };
}

/** @returns {Map<string, number>} the higher limits that users asked for, from the section of this version */
function exceptionsIn(root) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const sections = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split(/^(?=## )/m);
  const section = sections.find((text) => text.startsWith(`## [${version}]`)) ?? '';
  return new Map(
    [...section.matchAll(EXCEPTION)].map(([, folder, lines]) => [folder, Number(lines.replaceAll(',', ''))]),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { report, problems } = checkSizes();
  for (const line of report) console.log(line);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

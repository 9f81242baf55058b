// Records in dist/ the sources of the build: their digest, and the version with the git commit.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { versionFile } from '../infra/codeVersion.mjs';
import { ROOT } from '../infra/root.mjs';

/** The source folders that tsconfig.json includes. */
export function sourceFolders(root) {
  return JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')).include;
}

export function buildIsFresh(root) {
  try {
    return readFileSync(stampFile(root), 'utf8') === digest(root);
  } catch {
    return false;
  }
}

/** Called after a successful build. Also removes the output of deleted sources, because a deleted test would still run. */
export function finishBuild(root) {
  for (const file of walk(join(root, 'dist'), '')) {
    const match = /^(.*?)(?:\.d)?\.(m?)(?:js(?:\.map)?|ts)$/.exec(file);
    if (!match) continue;
    const [, name, m] = match;
    if (!['ts', 'tsx', 'js'].some((kind) => existsSync(join(root, `${name}.${m}${kind}`))))
      rmSync(join(root, 'dist', file));
  }
  replace(stampFile(root), digest(root));
}

/** Called at every set-up, because a commit changes the version of the same sources. */
export function writeVersion(root) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  replace(versionFile(root), `${version}+${commit(root) ?? `sources.${digest(root).slice(0, 12)}`}`);
}

function replace(file, text) {
  const part = `${file}.${process.pid}`;
  writeFileSync(part, text);
  renameSync(part, file);
}

/** The git commit. Undefined without git or outside a repository. Ignores a repository that only surrounds an unpacked archive. */
function commit(root) {
  if (!existsSync(join(root, '.git'))) return undefined;
  const args = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'];
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

const stampFile = (root) => join(root, 'dist', '.stamp');

function digest(root) {
  const hash = createHash('sha256');
  const folders = sourceFolders(root);
  const sources = folders.flatMap((folder) =>
    walk(root, folder).filter((file) => /\.(m?[tj]s|tsx|css|html)$/.test(file)),
  );
  for (const file of ['package-lock.json', 'tsconfig.json', ...sources.sort()]) {
    hash.update(`${file}\0`).update(readFileSync(join(root, file)));
  }
  return hash.digest('hex');
}

/** The files below root/folder, as paths from root. */
function walk(root, folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : walk(root, path);
    return entry.isFile() ? [path] : [];
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  finishBuild(ROOT); // called at the end of `npm run build`
  writeVersion(ROOT);
}

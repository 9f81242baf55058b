// Is dist/ what the sources say? One digest over their contents, written after a build that succeeded.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folders that tsconfig.json includes, and what the compiler emits into. */
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

/** Also removes what was built from sources that are gone: a deleted test would otherwise still run. */
export function finishBuild(root) {
  for (const file of walk(join(root, 'dist'), '')) {
    const match = /^(.*)\.(m?)js(\.map)?$/.exec(file);
    if (!match) continue;
    const [, name, m] = match;
    if (!['ts', 'js'].some((kind) => existsSync(join(root, `${name}.${m}${kind}`)))) rmSync(join(root, 'dist', file));
  }
  const part = `${stampFile(root)}.${process.pid}`;
  writeFileSync(part, digest(root));
  renameSync(part, stampFile(root));
}

const stampFile = (root) => join(root, 'dist', '.stamp');

function digest(root) {
  const hash = createHash('sha256');
  const folders = sourceFolders(root);
  const sources = folders.flatMap((folder) => walk(root, folder).filter((file) => /\.m?[tj]s$/.test(file)));
  for (const file of ['package-lock.json', 'tsconfig.json', ...sources.sort()]) {
    hash.update(`${file}\0`).update(readFileSync(join(root, file)));
  }
  return hash.digest('hex');
}

/** Files below root/folder, as paths from root. */
function walk(root, folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : walk(root, path);
    return entry.isFile() ? [path] : [];
  });
}

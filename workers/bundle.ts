// The bundle of the workflow code, built once for each version of the compiled workflows. With it, a worker starts in
// less than a second and needs a third of the memory.
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import { ROOT } from '../infra/root.mjs';
import { cacheFolder, writeAtomically } from '../ml/hf/files.js';

const CODE = fileURLToPath(new URL('..', import.meta.url)); // dist/, or the checkout in a test from source
const DIST = join(ROOT, 'dist');
const TYPE = extname(import.meta.url);

/** The path of the bundle. Two workers that build it at the same time write the same file. */
export async function workflowBundle(): Promise<string> {
  const name = `workflow-bundle-${await sourcesDigest()}.js`;
  const own = join(DIST, name);
  const path = existsSync(own) || isWritable(DIST) ? own : join(cacheFolder(), name); // DIST may belong to another user
  if (existsSync(path)) return path;
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(CODE, 'workflows', `index${TYPE}`),
    workflowInterceptorModules: [join(CODE, 'workflows', `traceContext${TYPE}`)],
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error: console.error },
  });
  writeAtomically(path, (fd) => writeFileSync(fd, code));
  return path;
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** The digest of everything that workflows import: our code, and the versions of the packages that we use. */
async function sourcesDigest(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of ['workflows', 'method', 'core']) {
    const entries = await readdir(join(CODE, folder), { recursive: true });
    for (const entry of entries.filter((name) => name.endsWith(TYPE)).sort()) {
      hash.update(entry).update(await readFile(join(CODE, folder, entry)));
    }
  }
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { dependencies: object };
  for (const name of Object.keys(manifest.dependencies).sort()) hash.update(`${name} ${await installedVersion(name)}`);
  return hash.digest('hex').slice(0, 16);
}

/** The installed version of a package; undefined if the package is not installed. */
async function installedVersion(name: string): Promise<string | undefined> {
  const { paths } = createRequire(import.meta.url).resolve;
  for (const folder of paths(name) ?? []) {
    const manifest = await readFile(join(folder, name, 'package.json'), 'utf8').catch(() => undefined);
    if (manifest !== undefined) return (JSON.parse(manifest) as { version: string }).version;
  }
  return undefined;
}

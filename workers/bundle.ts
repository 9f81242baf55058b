// The bundle of the workflow code, built once for each version of the compiled workflows. With it, a worker starts in
// less than a second and needs a third of the memory.
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import { cacheFolder, writeAtomically } from '../ml/hf/files.js';

const DIST = fileURLToPath(new URL('..', import.meta.url));

/** The path of the bundle. Two workers that build it at the same time write the same file. */
export async function workflowBundle(): Promise<string> {
  const name = `workflow-bundle-${await sourcesDigest()}.js`;
  const own = join(DIST, name);
  const path = existsSync(own) || isWritable(DIST) ? own : join(cacheFolder(), name); // another user may have installed it
  if (existsSync(path)) return path;
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(DIST, 'workflows', 'index.js'),
    workflowInterceptorModules: [join(DIST, 'workflows', 'traceContext.js')],
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

/** Digest of everything that workflows import: workflows/, core/, and the version of the SDK. */
async function sourcesDigest(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of ['workflows', 'core']) {
    const entries = await readdir(join(DIST, folder), { recursive: true });
    for (const entry of entries.filter((name) => name.endsWith('.js')).sort()) {
      hash.update(entry).update(await readFile(join(DIST, folder, entry)));
    }
  }
  const sdk = fileURLToPath(import.meta.resolve('@temporalio/workflow'));
  hash.update(await readFile(join(sdk, '..', '..', 'package.json')));
  return hash.digest('hex').slice(0, 16);
}

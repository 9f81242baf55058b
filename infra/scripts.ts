// Starts threads and processes of this code. Callers name the compiled file, `new URL('./x.js', import.meta.url)`; a test that
// runs from source gets `x.ts` and a loader for it (docs/adr/0031-tests-from-source.md).
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { ROOT } from './root.mjs';

const FROM_SOURCE = import.meta.url.endsWith('.ts');
const require = createRequire(import.meta.url);
/** Flags for Node that runs this code, for example as `node -e`. */
export const NODE_FLAGS = FROM_SOURCE ? ['--import', pathToFileURL(join(ROOT, 'tools/tsx.mjs')).href] : [];

const existing = (script: URL): URL => (FROM_SOURCE ? new URL(script.href.replace(/js$/, 'ts')) : script);

/**
 * A thread gets no flag of this process: it would refuse `--input-type` of `node -e`.
 * @param signal ends the thread, whatever it is doing
 */
export function startThread(script: URL, workerData: unknown, signal?: AbortSignal): Worker {
  signal?.throwIfAborted();
  const thread = new Worker(existing(script), { workerData, execArgv: NODE_FLAGS });
  signal?.addEventListener('abort', () => thread.terminate());
  return thread;
}

/** The arguments with which Node runs the script. */
export const scriptArguments = (script: URL): string[] => [...NODE_FLAGS, fileURLToPath(existing(script))];

/** The path of the script with all that it imports, for a process that may not load anything else, such as a compiler. */
export function plainScript(script: URL): string {
  if (!FROM_SOURCE) return fileURLToPath(script);
  const { buildSync } = require('esbuild') as typeof import('esbuild');
  const entry = fileURLToPath(existing(script));
  const { outputFiles } = buildSync({
    entryPoints: [entry],
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
  });
  const folder = join(ROOT, '.cache', 'source');
  const path = join(folder, basename(fileURLToPath(script)));
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${path}.${process.pid}`, outputFiles[0]!.contents);
  renameSync(`${path}.${process.pid}`, path); // another process may be reading it
  return path;
}

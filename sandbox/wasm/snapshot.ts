// A file with the memory of an interpreter that has just started. A separate process makes it once for each version.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { cacheFolder } from '../../core/base/cacheFolder.js';
import { GauntletError } from '../../core/base/errors.js';
import { plainScript } from '../../infra/scripts.js';

const require = createRequire(import.meta.url);

export const pyodideFolder = (): string => path.dirname(require.resolve('pyodide/package.json'));
export const pyodideUrl = (): string => pathToFileURL(path.join(pyodideFolder(), 'pyodide.mjs')).href;

/** Returns the cache folder if it is writable, otherwise one in the temporary folder. */
function writableFolder(): string {
  for (const folder of [cacheFolder(process.env, os.homedir()), path.join(os.tmpdir(), 'gauntlet')])
    try {
      fs.mkdirSync(folder, { recursive: true });
      fs.accessSync(folder, fs.constants.W_OK);
      return folder;
    } catch {
      // try the next one
    }
  throw new GauntletError('SANDBOX_FAULT', 'the sandbox has no writable cache folder: name one with GAUNTLET_CACHE');
}

export const pyodideVersion = (): string =>
  JSON.parse(fs.readFileSync(path.join(pyodideFolder(), 'package.json'), 'utf8')).version;

export function snapshotFile(folder = writableFolder()): string {
  const [major] = process.versions.node.split('.'); // the interpreter's tables depend on the version of Node
  return path.join(folder, `pyodide-${pyodideVersion()}-node${major}-2.snapshot`);
}

/** Returns the path of the snapshot. Makes the file if it is missing, which takes about 3 s. Several processes may do so at once. */
export async function ensureSnapshot(log: (line: string) => void, folder?: string): Promise<string> {
  const target = snapshotFile(folder);
  if (fs.existsSync(target)) return target;
  log('sandbox: preparing the WebAssembly interpreter (once)');
  const part = `${target}.${randomUUID()}.part`;
  const script = plainScript(new URL('./makeSnapshot.mjs', import.meta.url));
  const child = spawn(process.execPath, ['--no-warnings', script, pyodideUrl(), part], {
    env: {},
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (text) => {
    errors = (errors + text).slice(-2000);
  });
  const status = await new Promise((resolve) => child.once('error', resolve).once('close', resolve));
  if (status !== 0) {
    fs.rmSync(part, { force: true });
    const reason = errors.trim().split('\n').pop() ?? String(status);
    throw new GauntletError('SANDBOX_FAULT', `the WebAssembly interpreter did not start: ${reason}`);
  }
  fs.renameSync(part, target);
  return target;
}

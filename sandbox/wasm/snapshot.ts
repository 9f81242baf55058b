// The memory of a freshly started interpreter, kept in a file: made once a version, in a process of its own.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { GauntletError } from '../../core/errors.js';
import { packageRoot } from '../guest/source.js';

const require = createRequire(import.meta.url);

export const pyodideFolder = (): string => path.dirname(require.resolve('pyodide/package.json'));
export const pyodideUrl = (): string => pathToFileURL(path.join(pyodideFolder(), 'pyodide.mjs')).href;

/** The first folder that can be written: the package's .cache, the user's cache folder, the system's temporary one. */
function cacheFolder(): string {
  const user = process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), '.cache');
  for (const folder of [
    path.join(packageRoot(), '.cache'),
    path.join(user, 'gauntlet'),
    path.join(os.tmpdir(), 'gauntlet'),
  ])
    try {
      fs.mkdirSync(folder, { recursive: true });
      fs.accessSync(folder, fs.constants.W_OK);
      return folder;
    } catch {
      // try the next one
    }
  throw new GauntletError('SANDBOX_FAULT', 'no folder for the cache of the sandbox can be written');
}

export function snapshotFile(folder = cacheFolder()): string {
  const { version } = JSON.parse(fs.readFileSync(path.join(pyodideFolder(), 'package.json'), 'utf8'));
  const [major] = process.versions.node.split('.'); // what a Node can do decides what the interpreter's tables hold
  return path.join(folder, `pyodide-${version}-node${major}-2.snapshot`);
}

/** The path of the snapshot; made (about 3 s) where it is missing. Safe when several processes do it at once. */
export async function ensureSnapshot(log: (line: string) => void, folder?: string): Promise<string> {
  const target = snapshotFile(folder);
  if (fs.existsSync(target)) return target;
  log('sandbox: preparing the WebAssembly interpreter (once)');
  const part = `${target}.${randomUUID()}.part`;
  const script = fileURLToPath(new URL('./makeSnapshot.mjs', import.meta.url));
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

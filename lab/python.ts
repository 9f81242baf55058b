// The Python environment of the peers, which only benchmarks and `npm run parity` use. It is created once in .cache, and
// updated when a requirements file changes.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { withLock } from '../infra/lock.mjs';
import { ROOT } from '../infra/root.mjs';
import { LabError } from './flags.js';

/** The environment with torch, transformers and peft, for parity tests and benchmarks. */
export const TORCH_REQUIREMENTS = join('test', 'ml', 'parity', 'requirements.txt');
export const LLAMA_REQUIREMENTS = join('lab', 'bench', 'requirements-llama.txt');

export interface PythonRequest {
  requirements: readonly string[]; // paths of requirements files, relative to the checkout
  venv?: string; // an existing environment with all requirements
  folder?: string; // the folder of the new environment
  root?: string; // the folder of the checkout
  say: (line: string) => void;
}

/** @returns the interpreter. @throws {LabError} with one line that says what to do */
export async function providePython(request: PythonRequest): Promise<string> {
  const { requirements, venv, say, root = ROOT, folder = join(root, '.cache', 'python') } = request;
  if (venv !== undefined) {
    const python = join(venv, 'bin', 'python');
    if (!existsSync(python)) throw new LabError(`${venv} is no Python environment: it has no bin/python`);
    return python;
  }
  mkdirSync(dirname(folder), { recursive: true });
  return await withLock(
    `${folder}.lock`,
    () => install(folder, root, requirements, say),
    (pid) => say(`process ${pid} sets up the Python environment: waiting for it`),
  );
}

async function install(folder: string, root: string, requirements: readonly string[], say: PythonRequest['say']) {
  const python = join(folder, 'bin', 'python');
  if ((await exitCode(python, ['-m', 'pip', '--version'], true)) !== 0) {
    say(`making a Python environment in ${folder}`);
    if ((await exitCode('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))'], true)) !== 0)
      throw new LabError('python3 (3.10 or newer) was not found: install it with its venv and pip');
    if ((await exitCode('python3', ['-m', 'venv', '--clear', folder])) !== 0)
      throw new LabError('python3 -m venv failed: install venv and pip of your python3 (Debian: python3-venv)');
  }
  for (const file of requirements) {
    const text = readFileSync(join(root, file), 'utf8');
    const stamp = join(folder, `installed-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`);
    if (existsSync(stamp)) continue;
    const names = text.trim().split('\n').join(', ');
    say(`installing ${names} (once; this may take minutes)`);
    if ((await exitCode(python, ['-m', 'pip', 'install', '--progress-bar', 'off', '-r', join(root, file)])) !== 0)
      throw new LabError(
        `pip could not install ${basename(file)}: see its lines above (it needs a package index in reach, llama-cpp-python also a C++ compiler)`,
      );
    writeFileSync(stamp, '');
  }
  return python;
}

/** Runs a program with its output on standard error. @returns its exit code, -1 if it does not start */
export function exitCode(command: string, args: string[], silent = false): Promise<number> {
  return new Promise((settle) => {
    const child = spawn(command, args, { stdio: ['ignore', silent ? 'ignore' : 2, silent ? 'ignore' : 2] });
    child.on('error', () => settle(-1));
    child.on('close', (code) => settle(code ?? -1));
  });
}

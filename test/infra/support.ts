// Creates temporary folders and programs for the tests of set-up and tools.
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const made: string[] = [];
process.once('exit', () => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

/** Creates a folder with these files. It is removed when the process ends. */
export function temporaryFolder(files: Record<string, string> = {}, parent = tmpdir()): string {
  const folder = realpathSync(mkdtempSync(join(parent, 'gauntlet-test-')));
  made.push(folder);
  for (const [name, text] of Object.entries(files)) writeInto(folder, name, text);
  return folder;
}

export function writeInto(folder: string, name: string, text: string): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** Makes an executable shell script. */
export function program(folder: string, name: string, body: string): string {
  const file = writeInto(folder, name, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o755);
  return file;
}

export interface Ended {
  code: number | null;
  text: string; // collects both outputs in the order of their arrival
}

export function runNode(
  args: string[],
  options: { cwd?: string; env?: Record<string, string | undefined> } = {},
): Promise<Ended> {
  return new Promise((settle) => {
    const env = { ...process.env, ...options.env } as NodeJS.ProcessEnv;
    const child = spawn(process.execPath, args, { cwd: options.cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    const keep = (chunk: Buffer) => {
      text += chunk;
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('close', (code) => settle({ code, text }));
  });
}

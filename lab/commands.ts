// Runs commands of this checkout, and ends processes.
import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../infra/root.mjs';

const STOP_MS = 30_000;

/** Runs a command. Returns the last line of its output as JSON, or undefined. Its notes go to the terminal. */
export async function answerOf(args: string[]): Promise<unknown> {
  const program = join(ROOT, 'bin', 'gauntlet.mjs');
  const running = promisify(execFile)(process.execPath, [program, ...args], { maxBuffer: 2 ** 26 });
  running.child.stderr?.pipe(process.stderr);
  const line = (await running).stdout.trim().split('\n').at(-1);
  return line ? JSON.parse(line) : undefined;
}

export const isAlive = (child: ChildProcess | undefined): boolean =>
  child?.pid !== undefined && child.exitCode === null && child.signalCode === null;

/** Ends a process, by force if it takes too long. */
export async function stop(child: ChildProcess): Promise<void> {
  if (!isAlive(child)) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await exited;
  clearTimeout(timer);
}

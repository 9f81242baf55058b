// Commands of this checkout as processes: `gauntlet up`, workers, runs.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { ROOT } from '../infra/root.mjs';
import { LabError } from './flags.js';

const STOP_MS = 30_000;

const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill(); // they would continue
});

/** Starts a command with --json. It ends with this process at the latest. */
export function start(command: string[], env: NodeJS.ProcessEnv): ChildProcess {
  const args = [join(ROOT, 'bin/gauntlet.mjs'), ...command, '--json'];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  alive.add(child.once('close', () => alive.delete(child)));
  return child;
}

/** The first line of output as JSON. @throws {LabError} if the command ends before */
export async function firstAnswer<T = { url: string }>(child: ChildProcess, name: string): Promise<T> {
  const lines = createInterface({ input: child.stdout! }); // also reads what follows, so that the pipe never fills
  const [line] = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
  if (line === undefined) throw new LabError(`gauntlet ${name} ended without an answer`);
  return JSON.parse(line);
}

/** The last line of a command's output as JSON; undefined if there is none. Its notes go to the terminal. */
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

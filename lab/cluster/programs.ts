// Runs system programs for a simulated cluster.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

export async function run(command: string, args: readonly string[], uid?: number): Promise<void> {
  await promisify(execFile)(command, args, { cwd: '/', ...(uid === undefined ? {} : { uid, gid: uid }) });
}

/** Starts a server that writes to a log file. */
export function serve(command: string, args: readonly string[], log: string, uid?: number): ChildProcess {
  const output = openSync(log, 'a');
  const user = uid === undefined ? {} : { uid, gid: uid };
  return spawn(command, args, { cwd: '/', stdio: ['ignore', output, output], ...user });
}

/** Repeats `work` until it succeeds. @throws the last error of `work`, or the error that ended `server` */
export async function eventually<T>(work: () => Promise<T>, server: ChildProcess, withinMs = 120_000): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (server.exitCode !== null) throw new Error(`${server.spawnfile} ended: see its log`, { cause: error });
      if (Date.now() > deadline) throw error;
      await sleep(250);
    }
  }
}

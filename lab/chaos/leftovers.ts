// Finds what a chaos run must not leave: processes of its sessions, processes that name its folder (in the command line, the
// environment or a container's root file system), and containers of dead workers.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { listContainers } from '../../sandbox/docker/daemon.js';
import { OWNER, ownerIn } from '../../sandbox/docker/reaper.js';

/** `sessions` are the pids of workers, each of which started a session. Their children stay in it. */
export function leftProcesses(folder: string, sessions: ReadonlySet<number>): string[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid > 0 && pid !== process.pid)
    .filter((pid) => {
      const stat = read(pid, 'stat');
      if (stat === '' || /\) [ZX] /.test(stat)) return false; // skips zombies
      const session = Number(stat.replace(/^.*\) /s, '').split(' ')[3]);
      return sessions.has(session) || names(pid, folder);
    })
    .map((pid) => `${pid} ${read(pid, 'cmdline').replaceAll('\0', ' ').trim().slice(0, 120)}`);
}

/** The containers of these workers, in any state. */
export async function leftContainers(docker: Docker, workers: ReadonlySet<number>): Promise<string[]> {
  return (await listContainers(docker, OWNER))
    .filter(({ Labels }) => workers.has(ownerIn(Labels[OWNER])[1]))
    .map(({ Id, State, Names }) => `${Id.slice(0, 12)} ${State} ${Names.join(' ')}`);
}

/** Waits up to `ms` for everything to end. Returns what is still there. */
export async function settled(look: () => string[] | Promise<string[]>, withinMs: number): Promise<string[]> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const left = await look();
    if (left.length === 0 || Date.now() > deadline) return left;
    await sleep(100);
  }
}

function names(pid: number, folder: string): boolean {
  if (read(pid, 'cmdline').includes(folder) || read(pid, 'environ').includes(folder)) return true;
  const root = read(pid, 'mountinfo').match(/^\d+ \d+ \S+ \S+ \/ .*$/m); // for a container, this names an overlay
  return root?.[0].includes(folder) ?? false;
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return ''; // the process has ended
  }
}

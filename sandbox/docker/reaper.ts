// Containers of workers that were killed: found by their labels at start-up and removed. Usually there are none, since
// a container ends with the stdin that its worker held open.
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import type Docker from 'dockerode';

const OWNER = 'gauntlet.sandbox.owner';
const STRANGER_HOURS = 24; // containers that another machine made through the same daemon

/** Start time of a process in clock ticks since boot, so that a reused pid is not mistaken; '' where it is not told. */
function startTime(pid: number): string {
  try {
    return (
      fs
        .readFileSync(`/proc/${pid}/stat`, 'latin1')
        .replace(/^.*\) /s, '')
        .split(' ')[19] ?? ''
    );
  } catch {
    return '';
  }
}

const session = randomUUID();
export const ownLabels = (): Record<string, string> => ({
  [OWNER]: JSON.stringify([os.hostname(), process.pid, startTime(process.pid)]),
  'gauntlet.sandbox.session': session,
});

function isAlive(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return startTime(pid) === start;
}

/** Removes what dead workers left; gives how many containers that were. */
export async function reapContainers(docker: Docker): Promise<number> {
  const containers = await docker.listContainers({ all: true, filters: { label: [OWNER] } });
  let removed = 0;
  for (const { Id, Labels, Created } of containers) {
    let owner: [string, number, string] = ['', 0, ''];
    try {
      owner = JSON.parse(Labels[OWNER] ?? '');
    } catch {
      // a label that is not ours to read: its age decides
    }
    const [host, pid, start] = owner;
    const old = Date.now() / 1000 - Created > STRANGER_HOURS * 3600;
    if (host === os.hostname() ? isAlive(pid, start) : !old) continue;
    await removeContainer(docker.getContainer(Id));
    removed++;
  }
  return removed;
}

const GONE_SECONDS = 20;

/** Removes a container and waits until it is gone, also when the daemon was already at it (409). */
export async function removeContainer(container: Docker.Container): Promise<void> {
  const until = performance.now() + GONE_SECONDS * 1000;
  await container.remove({ force: true, v: true }).catch(() => {}); // what matters is seen below
  while (performance.now() < until) {
    const gone = await container.inspect().then(
      () => false,
      (error: { statusCode?: number }) => error.statusCode === 404,
    );
    if (gone) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

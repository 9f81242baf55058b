// When a sandbox opens, this removes the containers of workers that were killed. It finds them by their labels. Usually
// there are none, because a container ends when its worker closes its stdin.
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { isAlive } from '../../infra/lock.mjs';
import { isHere, PLACE } from '../../infra/place.mjs';
import { listContainers, within } from './daemon.js';

export const OWNER = 'gauntlet.sandbox.owner';
const STRANGER_HOURS = 24; // a container whose worker ran on another machine is removed at this age

/** When a process started, in clock ticks since boot; '' if unknown. Shows that another process has the same pid now. */
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
  [OWNER]: JSON.stringify([PLACE, process.pid, startTime(process.pid)]),
  'gauntlet.sandbox.session': session,
});

/** Reads the owner from a label. An unknown label names nobody; then the age of the container decides. */
export function ownerIn(label = ''): [host: string, pid: number, start: string] {
  const nobody: ReturnType<typeof ownerIn> = ['', 0, ''];
  try {
    const owner: unknown = JSON.parse(label);
    return Array.isArray(owner) ? (owner as typeof nobody) : nobody;
  } catch {
    return nobody;
  }
}

/** Removes the containers of dead workers and returns their number. */
export async function reapContainers(docker: Docker): Promise<number> {
  let removed = 0;
  for (const { Id, Labels, Created } of await listContainers(docker, OWNER)) {
    const [host, pid, start] = ownerIn(Labels[OWNER]);
    const old = Date.now() / 1000 - Created > STRANGER_HOURS * 3600;
    if (isHere(host) ? isAlive(pid) && startTime(pid) === start : !old) continue;
    await removeContainer(docker.getContainer(Id));
    removed++;
  }
  return removed;
}

const GONE_MS = 20_000;
const OUTAGE_MS = 3000; // how long to try if the daemon does not answer; a later reaper finds the container
const REQUEST_MS = 10_000;

/** Removes a container and waits until it is gone, even if the daemon is removing it already (409). */
export async function removeContainer(container: Docker.Container): Promise<void> {
  const started = performance.now();
  let heard = started;
  for (let pause = 20; performance.now() - started < GONE_MS; pause = Math.min(2 * pause, 500)) {
    try {
      await within(REQUEST_MS, 'remove', container.remove({ force: true, v: true }));
      return;
    } catch (error) {
      const { statusCode } = error as { statusCode?: number };
      if (statusCode === 404) return;
      if (statusCode !== undefined) heard = performance.now();
      else if (performance.now() - heard > OUTAGE_MS) return;
    }
    await sleep(pause);
  }
}

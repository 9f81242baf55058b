// The containers of one open sandbox. Each gets its name before it is created. So containers that a broken connection left
// behind are found and removed after a reconnection and at the end.
import { randomUUID } from 'node:crypto';
import type Docker from 'dockerode';
import { listContainers, within } from './daemon.js';
import { ownLabels, removeContainer } from './reaper.js';
import { DaemonWatch } from './watch.js';

const FLEET = 'gauntlet.sandbox.fleet';
const LIST_MS = 10_000;

export class Fleet {
  readonly id = randomUUID().slice(0, 13);
  readonly watch: DaemonWatch;
  #live = new Set<string>();
  #count = 0;

  constructor(readonly docker: Docker) {
    this.watch = new DaemonWatch(docker, `${FLEET}=${this.id}`, () => void this.removeStrays().catch(() => {}));
  }

  async open(): Promise<void> {
    await this.watch.open();
  }

  labels(): Record<string, string> {
    return { ...ownLabels(), [FLEET]: this.id };
  }

  /** A name for the next container, which is in use until `drop`. */
  next(): string {
    const name = `gauntlet-${this.id}-${++this.#count}`;
    this.#live.add(name);
    return name;
  }

  drop(name: string): void {
    this.#live.delete(name);
  }

  /** Removes containers of this fleet that are not in use. */
  async removeStrays(): Promise<number> {
    const listed = await within(LIST_MS, 'list', listContainers(this.docker, `${FLEET}=${this.id}`));
    const strays = listed.filter(({ Names }) => !Names.some((name) => this.#live.has(name.replace(/^\//, ''))));
    await Promise.all(strays.map(({ Id }) => removeContainer(this.docker.getContainer(Id))));
    return strays.length;
  }

  async close(): Promise<void> {
    this.#live.clear();
    await this.removeStrays().catch(() => {}); // if the daemon is gone, the reaper of the next start finds them
    this.watch.close();
  }
}

// Starts a Docker daemon for one chaos run, which can be killed without harm to other containers. Its socket and state are in
// the run's folder. The sandbox image is copied from the usual daemon if it is there. Needs root.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import Docker from 'dockerode';
import { GauntletError } from '../../core/base/errors.js';
import { ROOT } from '../../infra/root.mjs';
import { IMAGES } from '../../sandbox/docker/image.js';

const exec = promisify(execFile);

export class OwnDocker {
  readonly socket: string;
  readonly docker: Docker;
  private pid = 0;
  forgotten = 0; // containers that killed daemons left behind; the next start ends them

  constructor(folder: string) {
    this.socket = join(folder, 'd.sock');
    this.docker = new Docker({ socketPath: this.socket });
  }

  get host(): string {
    return `unix://${this.socket}`;
  }

  async open(): Promise<void> {
    if (process.getuid?.() !== 0)
      throw new GauntletError('SANDBOX_UNAVAILABLE', 'chaos with Docker starts its own daemon: run it as root');
    await this.start();
    const image = await new Docker()
      .getImage(IMAGES.none)
      .get()
      .catch(() => undefined);
    if (image === undefined) return; // the sandbox will build the image
    await new Promise((resolve, reject) => {
      this.docker.loadImage(image, (error, stream) =>
        error || !stream ? reject(error) : this.docker.modem.followProgress(stream, resolve),
      );
    });
  }

  async start(): Promise<void> {
    const env = { ...process.env, DOCKER_HOST: this.host };
    const script = join(ROOT, 'infra/ci/docker-engine.sh');
    const { stdout, stderr } = await exec('bash', [script], { env });
    this.forgotten += stderr.split('\n').filter((line) => line.includes('forgot')).length;
    this.pid = Number(stdout.trim());
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    process.kill(this.pid, signal);
    while (existsSync(`/proc/${this.pid}`)) await sleep(20);
  }

  /** The ids of the running containers. */
  async running(): Promise<string[]> {
    return (await this.docker.listContainers()).map(({ Id }) => Id);
  }

  /** The host pid of a container's first process; 0 if the process has ended. */
  async processOf(container: string): Promise<number> {
    const { State } = await this.docker.getContainer(container).inspect();
    return State.Pid;
  }

  /** Ends the daemon and removes its mounts. */
  async close(): Promise<void> {
    if (this.pid > 0 && existsSync(`/proc/${this.pid}`)) await this.end('SIGTERM');
    const places = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[1] ?? '')
      .filter((place) => place.startsWith(`${this.socket}.d/`));
    for (const place of places.sort().reverse()) await exec('umount', ['-l', place]).catch(() => undefined);
  }
}

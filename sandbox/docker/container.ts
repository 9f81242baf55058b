// One hardened container with the fork server as pid 1, and the host's end of its streams.
import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import { type Guest, GuestChannel, type GuestRun, type ResolvedJob } from '../guest/channel.js';
import { type ContainerSpec, containerOptions } from './options.js';
import { removeContainer } from './reaper.js';

const MAX_JOBS = 2000; // then the container is replaced
const START_SECONDS = 30;

export class ContainerGuest implements Guest {
  #channel: GuestChannel;
  #removed?: Promise<void>;
  #stderr = '';
  #raw: Buffer = Buffer.alloc(0);
  #watch?: NodeJS.Timeout;

  private constructor(
    readonly container: Docker.Container,
    stream: Duplex,
    readonly spec: ContainerSpec,
  ) {
    const destroy = () => {
      stream.destroy();
      void this.#remove();
    };
    this.#channel = new GuestChannel(
      { write: (data) => void stream.write(data), destroy },
      spec.isolation === 'strict' ? 1 : MAX_JOBS,
    );
    stream.on('data', (data: Buffer) => this.#demultiplex(data));
    const gone = () => this.#channel.end(`the container ended ${this.#stderr.trim().split('\n').pop()}`.trim());
    stream.on('end', gone).on('close', gone).on('error', gone);
  }

  static async start(docker: Docker, spec: ContainerSpec): Promise<ContainerGuest> {
    const container = await docker.createContainer(containerOptions(spec));
    let guest: ContainerGuest | undefined;
    try {
      const stream = await container.attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true });
      guest = new ContainerGuest(container, stream as unknown as Duplex, spec);
      const timer = setTimeout(() => guest!.#channel.end('the container did not start in time'), START_SECONDS * 1000);
      try {
        await container.start();
        await guest.#channel.ready;
      } finally {
        clearTimeout(timer);
      }
      return guest;
    } catch (error) {
      await removeContainer(container);
      throw error;
    }
  }

  get usable(): boolean {
    return this.#channel.usable;
  }

  fits(job: ResolvedJob): boolean {
    return job.limits.memoryMb <= this.spec.memoryMb;
  }

  /** The guest keeps the limits itself; a container that is silent far beyond them is replaced. */
  async run(job: ResolvedJob): Promise<GuestRun> {
    this.#watch ??= setInterval(() => {
      const head = this.#channel.head;
      if (head && performance.now() - this.#channel.headSince > (3 * head.limits.wallSeconds + 30) * 1000)
        this.#channel.end('the container did not answer in time');
    }, 1000);
    try {
      return await this.#channel.run(job);
    } finally {
      if (!this.#channel.head) {
        clearInterval(this.#watch);
        this.#watch = undefined;
      }
    }
  }

  async close(): Promise<void> {
    this.#channel.retire('closed');
    await this.#remove();
  }

  #remove(): Promise<void> {
    this.#removed ??= removeContainer(this.container);
    return this.#removed!;
  }

  /** Docker's own framing: [stream, 0, 0, 0, u32 length] before each piece of stdout (1) or stderr (2). */
  #demultiplex(data: Buffer): void {
    this.#raw = this.#raw.length > 0 ? Buffer.concat([this.#raw, data]) : data;
    while (this.#raw.length >= 8) {
      const length = this.#raw.readUInt32BE(4);
      if (this.#raw.length < 8 + length) return;
      const piece = this.#raw.subarray(8, 8 + length);
      if (this.#raw[0] === 2) this.#stderr = (this.#stderr + piece.toString()).slice(-2000);
      else this.#channel.feed(piece);
      this.#raw = this.#raw.subarray(8 + length);
    }
  }
}

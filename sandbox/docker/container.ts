// One hardened container with the fork server as pid 1, and the host's end of its streams.
import { randomInt } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import { type Guest, GuestChannel, type GuestRun, type ResolvedJob } from '../guest/channel.js';
import { guestSource } from '../guest/source.js';
import { ownLabels, removeContainer } from './reaper.js';

const MAX_JOBS = 2000; // then the container is replaced
const UIDS = 100_000; // a container's own range of uids: the kernel counts some resources per uid across containers
const HARNESS_MB = 64; // beside the memory of the program
const START_SECONDS = 30;
const MIB = 2 ** 20;

/** Everything a program could reach is closed here; see docs/sandbox.md for what each line is for. */
export function containerOptions(image: string, memoryMb: number): Docker.ContainerCreateOptions {
  const firstUid = 1_000_000 + randomInt(0, 10_000) * UIDS;
  const memory = (memoryMb + HARNESS_MB) * MIB;
  return {
    Image: image,
    Cmd: ['python3', '-P', '-s', '-B', '-c', guestSource('forkserver'), String(firstUid)],
    Entrypoint: [],
    User: '0:0', // inside, with three capabilities, for pid 1 alone; every program gets a uid of its own and none
    WorkingDir: '/tmp',
    Env: ['PYTHONHASHSEED=0', 'LANG=C.UTF-8'],
    Labels: ownLabels(),
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    StdinOnce: true,
    Tty: false,
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      CapAdd: ['SETUID', 'SETGID', 'KILL'],
      SecurityOpt: ['no-new-privileges'],
      Memory: memory,
      MemorySwap: memory,
      PidsLimit: 64,
      NanoCpus: 1e9,
      OomScoreAdj: 500,
      IpcMode: 'none',
      AutoRemove: true,
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'none', Config: {} },
      Tmpfs: { '/tmp': 'rw,noexec,nosuid,nodev,size=16m,nr_inodes=1k,mode=1777' },
      Sysctls: {
        'kernel.shmmni': '0',
        'kernel.msgmni': '0',
        'kernel.sem': '0 0 0 0',
        'fs.mqueue.queues_max': '0',
      },
      Ulimits: [
        { Name: 'core', Soft: 0, Hard: 0 },
        { Name: 'nofile', Soft: 64, Hard: 64 },
        { Name: 'fsize', Soft: 16 * MIB, Hard: 16 * MIB },
      ],
    },
  };
}

export class ContainerGuest implements Guest {
  #channel: GuestChannel;
  #removed?: Promise<void>;
  #stderr = '';
  #raw: Buffer = Buffer.alloc(0);
  #watch?: NodeJS.Timeout;

  private constructor(
    readonly container: Docker.Container,
    stream: Duplex,
    readonly memoryMb: number,
  ) {
    const destroy = () => {
      stream.destroy();
      void this.#remove();
    };
    this.#channel = new GuestChannel({ write: (data) => void stream.write(data), destroy }, MAX_JOBS);
    stream.on('data', (data: Buffer) => this.#demultiplex(data));
    const gone = () => this.#channel.end(`the container ended ${this.#stderr.trim().split('\n').pop()}`.trim());
    stream.on('end', gone).on('close', gone).on('error', gone);
  }

  static async start(docker: Docker, image: string, memoryMb: number): Promise<ContainerGuest> {
    const container = await docker.createContainer(containerOptions(image, memoryMb));
    let guest: ContainerGuest | undefined;
    try {
      const stream = await container.attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true });
      guest = new ContainerGuest(container, stream as unknown as Duplex, memoryMb);
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
    return job.limits.memoryMb <= this.memoryMb;
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

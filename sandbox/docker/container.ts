// One hardened container, whose pid 1 is a guest, and the host's side of its streams.
import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import type { Limits } from '../../core/schema/execution.js';
import {
  type Guest,
  GuestChannel,
  GuestLost,
  type GuestRun,
  type ResolvedJob,
  type Session,
} from '../guest/channel.js';
import type { SessionSpec } from '../guest/frames.js';
import { within } from './daemon.js';
import type { Fleet } from './fleet.js';
import { type ContainerSpec, containerOptions, SILENCE_SECONDS } from './options.js';
import { removeContainer } from './reaper.js';

const MAX_JOBS = 2000; // the number of jobs after which a container is replaced
const MAX_AGE_MS = 12 * 3600_000; // a container is replaced at this age: other machines remove it when it is a day old
const START_MS = 30_000;
const IDLE_MS = 30_000; // after this time without a job, a container is asked whether it still answers
const CHECK_MS = 5000;
const EXIT_MS = 3000; // how long the daemon may take to remove a container that ended by itself

export class ContainerGuest implements Guest {
  #channel: GuestChannel;
  #removed?: Promise<void>;
  #stderr = '';
  #raw: Buffer = Buffer.alloc(0);
  #timers: NodeJS.Timeout[] = [];
  #born = performance.now();
  #lastUse = performance.now();
  #checking?: Promise<boolean> | undefined;
  #isSpent = false;
  #hasEnded = false; // true if the container ended by itself, not on our request

  private constructor(
    readonly container: Docker.Container,
    stream: Duplex,
    readonly spec: ContainerSpec,
    readonly fleet: Fleet,
    readonly name: string,
  ) {
    const destroy = () => {
      stream.destroy();
      void this.#remove();
    };
    const maxJobs = spec.isolation === 'strict' ? 1 : MAX_JOBS;
    this.#channel = new GuestChannel({ write: (data) => void stream.write(data), destroy }, maxJobs);
    stream.on('data', (data: Buffer) => this.#demultiplex(data));
    const gone = () => {
      if (this.#channel.usable) this.#hasEnded = true;
      this.#channel.end(`the container ended ${this.#stderr.trim().split('\n').pop()}`.trim());
    };
    stream.on('end', gone).on('close', gone).on('error', gone);
  }

  static async start(fleet: Fleet, spec: ContainerSpec): Promise<ContainerGuest> {
    const name = fleet.next();
    const options = { ...containerOptions(spec), Labels: fleet.labels(), name };
    let container: Docker.Container | undefined;
    try {
      container = await within(START_MS, 'creating a container', fleet.docker.createContainer(options));
      fleet.watch.follow(container.id);
      const ends = { stream: true, stdin: true, stdout: true, stderr: true, hijack: true };
      const stream = await within(START_MS, 'attaching to a container', container.attach(ends));
      const guest = new ContainerGuest(container, stream as unknown as Duplex, spec, fleet, name);
      await within(START_MS, 'starting a container', container.start());
      await within(START_MS, 'the start of the guest', guest.#channel.ready);
      guest.#attend();
      return guest;
    } catch (error) {
      if (container) {
        fleet.watch.forget(container.id);
        await removeContainer(container);
      }
      fleet.drop(name);
      throw error;
    }
  }

  get usable(): boolean {
    return this.#channel.usable && !this.#isSpent && performance.now() - this.#born < MAX_AGE_MS;
  }

  fits(job: { limits: Limits }): boolean {
    return job.limits.memoryMb <= this.spec.memoryMb;
  }

  /** Whether the guest still answers. A container that was idle gets a job without calls, to see whether it does. */
  check(): Promise<boolean> {
    if (this.#channel.head || performance.now() - this.#lastUse < IDLE_MS) return Promise.resolve(true);
    this.#checking ??= this.#ask().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #ask(): Promise<boolean> {
    const limits = { cpuSeconds: 1, caseCpuSeconds: 1, wallSeconds: 1, memoryMb: 64, outputBytes: 1 };
    const job: ResolvedJob = { id: 'check', code: '', entry: '', inputs: [], limits };
    try {
      await within(CHECK_MS, 'a check', this.#channel.run(job));
      this.#lastUse = performance.now();
      return true;
    } catch {
      this.#channel.retire('it no longer answers');
      return false;
    }
  }

  /** The guest enforces the limits itself. A container that stays silent far beyond them is replaced. */
  async run(job: ResolvedJob): Promise<GuestRun> {
    const epoch = this.#begin();
    try {
      return await this.#channel.run(job);
    } catch (error) {
      throw await this.#explained(error, epoch);
    } finally {
      this.#lastUse = performance.now();
    }
  }

  open(spec: SessionSpec, limits: Limits, onText: (text: string) => void): Session {
    const epoch = this.#begin();
    const session = this.#channel.open(spec, limits, onText);
    const ended = session.ended
      .finally(() => {
        this.#lastUse = performance.now();
      })
      .catch(async (error) => {
        throw await this.#explained(error, epoch);
      });
    ended.catch(() => {}); // avoids an unhandled rejection
    return { ...session, ended };
  }

  #begin(): number {
    if (this.spec.isolation === 'strict') this.#isSpent = true;
    return this.fleet.watch.connected ? this.fleet.watch.epoch : -1;
  }

  /** Ends the container if a job runs far beyond its limits, and sends keep-alives while there is no job. */
  #attend(): void {
    if (!this.#channel.usable) return;
    const look = () => {
      const { head } = this.#channel;
      const late = head && performance.now() - this.#channel.headSince > (3 * head.limits.wallSeconds + 30) * 1000;
      // setImmediate: input that arrived while this process was stopped is read first
      if (late)
        setImmediate(() => this.#channel.head === head && this.#channel.end('the container did not answer in time'));
    };
    const silence = 1000 * (this.spec.silenceSeconds ?? SILENCE_SECONDS);
    this.#timers = [setInterval(look, 1000), setInterval(() => this.#channel.keepAlive(), silence / 4)];
    for (const timer of this.#timers) timer.unref(); // the stream keeps the process alive
  }

  /** Adds the cause to the loss of a guest. A container that did not end by itself was ended by this host. */
  async #explained(error: unknown, epoch: number): Promise<unknown> {
    if (!(error instanceof GuestLost && error.running)) return error;
    const { watch } = this.fleet;
    const ending = async () => ((await watch.isSteady(epoch)) ? 'program' : 'infrastructure');
    const blame = this.#hasEnded ? await watch.blame(this.container.id, epoch) : await ending();
    if (blame === 'infrastructure') return new GuestLost(error.message, true, 'infrastructure');
    return new GuestLost(error.message, true, 'program', blame === 'program, memory');
  }

  async close(): Promise<void> {
    this.#channel.retire('closed');
    await this.#remove();
  }

  #remove(): Promise<void> {
    this.#removed ??= this.#removeOnce();
    return this.#removed;
  }

  async #removeOnce(): Promise<void> {
    const { watch } = this.fleet;
    for (const timer of this.#timers) clearInterval(timer);
    // the daemon removes a container that has ended; a removal from here would look like a kill
    const endsItself = this.#isSpent || this.#hasEnded;
    if (!(endsItself && (await watch.isGone(this.container.id, EXIT_MS)))) await removeContainer(this.container);
    this.fleet.drop(this.name);
    setTimeout(() => watch.forget(this.container.id), 10_000).unref(); // by then nobody asks any more how the container ended
  }

  /** Docker puts 8 bytes before each chunk of output: the stream (1 is stdout, 2 is stderr), three zeros, the length as u32. */
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

// One guest as the host sees it: jobs go out in order, results come back in order, and when the guest ends, the host
// knows which job was running and which were only waiting. Backends own the process or container behind it.

import type { z } from 'zod';
import type { CallResult, ExecutionJob, Limits } from '../../core/schema/execution.js';
import {
  callFrameSchema,
  encodeFrame,
  FrameReader,
  type GuestCall,
  type JobFrame,
  loadedFrameSchema,
  readyFrameSchema,
  resultFrameSchema,
  retireFrameSchema,
  toCallResult,
} from './frames.js';

export type ResolvedJob = ExecutionJob & { limits: Limits };
export interface GuestRun {
  calls: CallResult[];
  ms: number;
  wallHit: boolean; // the wall clock ended it: to be run again alone
}

/** One isolated runner of programs. */
export interface Guest {
  readonly usable: boolean;
  fits(job: ResolvedJob): boolean;
  run(job: ResolvedJob): Promise<GuestRun>;
  close(): Promise<void>;
}

/** The guest ended before it answered. `running`: this job was being run, so it may be the cause, if a program was. */
export class GuestLost extends Error {
  constructor(
    reason: string,
    readonly running: boolean,
    readonly by: 'program' | 'infrastructure' = 'program',
    readonly memory = false, // the kernel killed for memory meanwhile
  ) {
    super(reason);
  }
}

interface Pending {
  job: ResolvedJob;
  frame: JobFrame;
  calls: GuestCall[];
  resolve(run: GuestRun): void;
  reject(error: Error): void;
}

export interface Transport {
  write(data: Buffer): void;
  destroy(): void;
}

export class GuestChannel {
  readonly ready: Promise<z.infer<typeof readyFrameSchema>>;
  #greeted!: (ready: z.infer<typeof readyFrameSchema>) => void;
  #failed!: (error: Error) => void;
  #isReady = false;
  #reader = new FrameReader();
  #queue: Pending[] = [];
  #nextId = 1;
  #done = 0;
  #usable = true;
  /** The job being run and since when (host's monotonic ms); the guest's CPU clock at that time, in seconds. */
  headSince = 0;
  cpuAtHead = 0;
  /** The same when the call being made began; undefined while a program loads, and for guests that do not say. */
  cpuAtCall?: number | undefined;

  constructor(
    readonly transport: Transport,
    readonly maxJobs: number,
  ) {
    this.ready = new Promise((resolve, reject) => {
      this.#greeted = resolve;
      this.#failed = reject;
    });
    this.ready.catch(() => {}); // whoever waits for it sees it too
  }

  get usable(): boolean {
    return this.#usable;
  }

  get head(): ResolvedJob | undefined {
    return this.#queue[0]?.job;
  }

  run(job: ResolvedJob): Promise<GuestRun> {
    if (!this.#usable) return Promise.reject(new GuestLost('the guest has ended', false));
    const { limits } = job;
    const frame: JobFrame = {
      id: this.#nextId++,
      code: job.code,
      entry: job.entry,
      calling: job.calling,
      inputs: job.inputs,
      cpu: limits.cpuSeconds,
      case: limits.caseCpuSeconds,
      wall: limits.wallSeconds,
      memory: limits.memoryMb * 2 ** 20,
      output: limits.outputBytes,
    };
    return new Promise((resolve, reject) => {
      this.#queue.push({ job, frame, calls: [], resolve, reject });
      if (this.#queue.length === 1) this.headSince = performance.now();
      this.transport.write(encodeFrame(frame));
    });
  }

  /** Bytes from the guest. What is not a frame of the protocol ends it. */
  feed(data: Buffer): void {
    try {
      for (const message of this.#reader.feed(data)) {
        if (!this.#isReady) {
          const ready = readyFrameSchema.parse(message);
          this.cpuAtHead = ready.cpu ?? 0;
          this.#isReady = true;
          this.#greeted(ready);
        } else this.#take(message);
      }
    } catch (error) {
      this.end(`the guest broke the protocol: ${(error as Error).message.split('\n')[0]}`);
    }
  }

  /** The guest is gone or is to go: the running job and the waiting ones are told apart. */
  end(reason: string): void {
    this.#usable = false;
    this.#failed(new Error(reason));
    const queue = this.#queue.splice(0);
    for (const [i, pending] of queue.entries()) pending.reject(new GuestLost(reason, i === 0));
    this.transport.destroy();
  }

  /** Ends the guest because its running job passed a limit: the calls that it has not answered, or the first of them, are timeouts. */
  expire(message: string, wallHit: boolean, scope: 'program' | 'call' = 'program'): void {
    const pending = this.#queue.shift();
    this.retire('the guest was ended with a program that passed its limit');
    if (!pending) return;
    const unanswered = pending.frame.inputs.length - pending.calls.length;
    const missing = scope === 'call' ? Math.min(1, unanswered) : unanswered;
    const rest = Array.from({ length: missing }, (): GuestCall => ['timeout', message]);
    pending.resolve({
      calls: [...pending.calls, ...rest].map(toCallResult),
      ms: performance.now() - this.headSince,
      wallHit,
    });
  }

  /** No further job here: those that wait go elsewhere. */
  retire(reason: string): void {
    this.#usable = false;
    this.#failed(new Error(reason));
    for (const pending of this.#queue.splice(0)) pending.reject(new GuestLost(reason, false));
    this.transport.destroy();
  }

  #take(message: unknown): void {
    if (typeof message === 'object' && message !== null && !('id' in message)) {
      retireFrameSchema.parse(message);
      this.retire('the guest could not be cleaned after a program');
      return;
    }
    const pending = this.#queue[0];
    if (!pending) throw new Error('an answer without a job');
    const call = callFrameSchema.safeParse(message);
    if (call.success) {
      if (call.data.id !== pending.frame.id) throw new Error('an answer to another job');
      if (pending.calls.length >= pending.frame.inputs.length) throw new Error('more answers than calls');
      pending.calls.push(call.data.call);
      this.cpuAtCall = call.data.cpu;
      return;
    }
    const loaded = loadedFrameSchema.safeParse(message);
    if (loaded.success) {
      if (loaded.data.id !== pending.frame.id) throw new Error('an answer to another job');
      this.cpuAtCall = loaded.data.loaded;
      return;
    }
    const result = resultFrameSchema.parse(message);
    const calls = [...pending.calls, ...result.calls];
    if (result.id !== pending.frame.id) throw new Error('an answer to another job');
    if (calls.length !== pending.frame.inputs.length) throw new Error('an answer with another number of calls');
    this.#queue.shift();
    this.headSince = performance.now();
    this.cpuAtHead = result.cpu;
    this.cpuAtCall = undefined;
    pending.resolve({ calls: calls.map(toCallResult), ms: result.ms, wallHit: result.wall });
    if (pending.frame.inputs.length > 0 || pending.frame.code !== '') this.#done++; // else it was only a check
    if (result.retire || this.#done >= this.maxJobs) this.retire('the guest has served its time');
  }
}

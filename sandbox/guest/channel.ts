// The host's side of one guest. Results come back in the order of the jobs. So when the guest ends, the host knows which
// job was running and which ones were waiting. The backend owns the guest's process or container.
import type { z } from 'zod';
import { GauntletError } from '../../core/base/errors.js';
import { type CallResult, type ExecutionJob, type Limits, OUTPUT_BYTES } from '../../core/schema/execution.js';
import { reduceCall } from '../answers.js';
import {
  callFrameSchema,
  encodeFrame,
  endedFrameSchema,
  FrameReader,
  type GuestCall,
  type JobFrame,
  loadedFrameSchema,
  longestFrame,
  MAX_FRAME,
  outFrameSchema,
  readyFrameSchema,
  resultFrameSchema,
  retireFrameSchema,
  type SessionSpec,
  toCallResult,
} from './frames.js';

export type ResolvedJob = ExecutionJob<unknown> & { limits: Limits };
export interface GuestRun {
  calls: CallResult<unknown>[]; // what the job keeps of each answer
  ms: number;
  wallHit: boolean; // the limit of wall time ended the job, so it must run again alone
}

export interface SessionEnd {
  kind: 'end' | 'error' | 'timeout' | 'memory' | 'output'; // 'end': the process exited by itself or on request
  message: string;
  used: number; // CPU seconds
  wallHit: boolean;
}

/** An interactive job: a child process that exchanges texts with the host. */
export interface Session {
  send(text: string): void;
  end(): void;
  readonly ended: Promise<SessionEnd>; // rejects with GuestLost
}

/** One isolated runner of programs. */
export interface Guest {
  readonly usable: boolean;
  fits(job: { limits: Limits }): boolean;
  /** Whether the guest still answers. The pool calls this before every job. */
  check?(): Promise<boolean>;
  run(job: ResolvedJob): Promise<GuestRun>;
  open(spec: SessionSpec, limits: Limits, onText: (text: string) => void): Session;
  close(): Promise<void>;
}

/** The guest ended before it answered. `running`: it was running this job, so the job may be the cause. */
export class GuestLost extends Error {
  constructor(
    reason: string,
    readonly running: boolean,
    readonly by: 'program' | 'infrastructure' = 'program',
    readonly memory = false, // the kernel killed one of the guest's processes because memory ran out
  ) {
    super(reason);
  }
}

/** A job that the guest has received. */
interface Pending {
  readonly id: number;
  readonly limits: Limits;
  readonly maxFrame: number; // the most bytes of a frame for this job
  /** Reads a frame. Returns undefined until the job ends. */
  take(message: unknown): { cpu: number; retire: boolean; isCheck?: boolean } | undefined;
  /** @param used the CPU seconds that the job used */
  expire(message: string, wallHit: boolean, ms: number, scope: 'program' | 'call', used?: number): void;
  lose(error: GuestLost): void;
}

export interface Transport {
  write(data: Buffer): void;
  destroy(): void;
}

const ALIVE = encodeFrame({ alive: true });

export class GuestChannel {
  readonly ready: Promise<z.infer<typeof readyFrameSchema>>;
  #greeted!: (ready: z.infer<typeof readyFrameSchema>) => void;
  #failed!: (error: Error) => void;
  #isReady = false;
  #reader = new FrameReader(() => this.#queue[0]?.maxFrame ?? longestFrame(0));
  #queue: Pending[] = [];
  #nextId = 1;
  #done = 0;
  #usable = true;
  headSince = 0; // when the running job started, in ms of performance.now()
  cpuAtHead = 0; // the guest's CPU clock at that time, in seconds
  /** The guest's CPU clock when the running call started. Undefined while a program loads, or if the guest sends no clock. */
  cpuAtCall?: number | undefined;

  constructor(
    readonly transport: Transport,
    readonly maxJobs: number,
  ) {
    this.ready = new Promise((resolve, reject) => {
      this.#greeted = resolve;
      this.#failed = reject;
    });
    this.ready.catch(() => {}); // avoids an unhandled rejection
  }

  get usable(): boolean {
    return this.#usable;
  }

  get head(): { readonly limits: Limits } | undefined {
    return this.#queue[0];
  }

  run(job: ResolvedJob): Promise<GuestRun> {
    if (!this.#usable) return Promise.reject(new GuestLost('the guest has ended', false));
    const id = this.#nextId++;
    const frame: JobFrame = {
      id,
      code: job.code,
      entry: job.entry,
      calling: job.calling,
      inputs: job.inputs,
      truth: job.truth,
      ...limitsOfFrame(job.limits),
    };
    return new Promise((resolve, reject) => {
      const calls: CallResult<unknown>[] = [];
      const add = (call: GuestCall) => {
        if (calls.length >= job.inputs.length) throw new Error('more answers than calls');
        calls.push(reduceCall(job, toCallResult(call), calls.length));
      };
      this.#begin(frame, {
        id,
        limits: job.limits,
        maxFrame: longestFrame(job.inputs.length),
        lose: reject,
        expire(message, wallHit, ms, scope) {
          const unanswered = job.inputs.length - calls.length;
          const missing = scope === 'call' ? Math.min(1, unanswered) : unanswered;
          for (let i = 0; i < missing; i++) add(['timeout', message]);
          resolve({ calls, ms, wallHit });
        },
        take: (message) => {
          if (has(message, 'call')) {
            const { call, cpu } = callFrameSchema.parse(message);
            add(call);
            this.cpuAtCall = cpu;
            return undefined;
          }
          if (has(message, 'loaded')) {
            this.cpuAtCall = loadedFrameSchema.parse(message).loaded;
            return undefined;
          }
          const result = resultFrameSchema.parse(message);
          for (const call of result.calls) add(call);
          if (calls.length !== job.inputs.length) throw new Error('an answer with the wrong number of calls');
          resolve({ calls, ms: result.ms, wallHit: result.wall });
          return { ...result, isCheck: job.inputs.length === 0 && job.code === '' };
        },
      });
    });
  }

  /** Starts an interactive job. `onText` receives what its child writes until `ended` settles. */
  open(spec: SessionSpec, limits: Limits, onText: (text: string) => void): Session {
    const id = this.#nextId++;
    const write = (message: object) => {
      if (this.#queue.some((pending) => pending.id === id)) this.transport.write(encodeFrame({ id, ...message }));
    };
    const ended = new Promise<SessionEnd>((resolve, reject) => {
      if (!this.#usable) return reject(new GuestLost('the guest has ended', false));
      this.#begin(
        { id, ...spec, ...limitsOfFrame(limits) },
        {
          id,
          limits,
          maxFrame: MAX_FRAME,
          lose: reject,
          expire: (message, wallHit, _ms, _scope, used = limits.cpuSeconds) =>
            resolve({ kind: 'timeout', message, used, wallHit }),
          take(message) {
            if (has(message, 'out')) {
              onText(outFrameSchema.parse(message).out);
              return undefined;
            }
            const end = endedFrameSchema.parse(message);
            const [kind, text] = end.ended;
            resolve({ kind, message: text, used: end.used, wallHit: end.wall });
            return end;
          },
        },
      );
    });
    ended.catch(() => {}); // avoids an unhandled rejection
    return { ended, send: (text) => write({ in: text }), end: () => write({ end: true }) };
  }

  /** @throws {GauntletError} BAD_INPUT if the guest has no room for the frame */
  #begin(frame: { id: number }, pending: Pending): void {
    const data = encodeFrame(frame);
    if (data.length > MAX_FRAME) {
      const [size, most] = [data.length, MAX_FRAME].map((bytes) => Math.ceil(bytes / 2 ** 20));
      throw new GauntletError(
        'BAD_INPUT',
        `a program and its inputs have ${size} MiB, the sandbox takes at most ${most} MiB`,
      );
    }
    this.#queue.push(pending);
    if (this.#queue.length === 1) this.headSince = performance.now();
    this.transport.write(data);
  }

  /** Tells a guest without a job that the host is alive. A guest that hears nothing for a long time ends itself. */
  keepAlive(): void {
    if (this.#usable && this.#queue.length === 0) this.transport.write(ALIVE);
  }

  /** Reads bytes from the guest. Ends the guest if they are not a frame of the protocol. */
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

  /** The guest has ended or must end. Its running job may be the cause; jobs that waited are not. */
  end(reason: string): void {
    this.#usable = false;
    this.#failed(new Error(reason));
    const queue = this.#queue.splice(0);
    for (const [i, pending] of queue.entries()) pending.lose(new GuestLost(reason, i === 0));
    this.transport.destroy();
  }

  /** Ends the guest because its running job exceeded a limit. With scope 'call' only the running call is a timeout. */
  expire(message: string, wallHit: boolean, scope: 'program' | 'call' = 'program', used?: number): void {
    const pending = this.#queue.shift();
    this.retire('the guest was ended with a program that exceeded its limit');
    pending?.expire(message, wallHit, performance.now() - this.headSince, scope, used);
  }

  /** Ends the guest although no job is to blame. Other guests run its waiting jobs. */
  retire(reason: string): void {
    this.#usable = false;
    this.#failed(new Error(reason));
    for (const pending of this.#queue.splice(0)) pending.lose(new GuestLost(reason, false));
    this.transport.destroy();
  }

  #take(message: unknown): void {
    if (typeof message === 'object' && message !== null && !('id' in message)) {
      retireFrameSchema.parse(message);
      this.retire('the guest could not be cleaned, or the host has no memory left');
      return;
    }
    const pending = this.#queue[0];
    if (!pending) throw new Error('an answer without a job');
    if ((message as { id?: unknown } | null)?.id !== pending.id) throw new Error('an answer to another job');
    const end = pending.take(message);
    if (!end) return;
    this.#queue.shift();
    this.headSince = performance.now();
    this.cpuAtHead = end.cpu;
    this.cpuAtCall = undefined;
    if (!end.isCheck) this.#done++;
    if (end.retire || this.#done >= this.maxJobs) this.retire('the guest has reached its number of jobs');
  }
}

/** Selects the schema of a frame by one of its keys. Trying all schemas would be slow. */
const has = (message: unknown, key: string): boolean =>
  typeof message === 'object' && message !== null && Object.hasOwn(message, key);

const limitsOfFrame = ({ cpuSeconds, caseCpuSeconds, wallSeconds, memoryMb, outputBytes = OUTPUT_BYTES }: Limits) => ({
  cpu: cpuSeconds,
  case: caseCpuSeconds,
  wall: wallSeconds,
  memory: memoryMb * 2 ** 20,
  output: outputBytes,
});

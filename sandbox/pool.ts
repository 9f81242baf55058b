// Spreads jobs over guests and replaces guests that ended. Works with every backend. A job that reaches the limit of wall
// time runs once more while no other job is running, so that the load of the machine does not decide a verdict.
import { setTimeout } from 'node:timers/promises';
import { GauntletError } from '../core/base/errors.js';
import { type CallResult, type ExecutionJob, type ExecutionResult, limitsSchema } from '../core/schema/execution.js';
import type { Value } from '../core/schema/value.js';
import { BATCH_BYTES, keepWithin, PROGRAM_BYTES } from './answers.js';
import { GuestLost, type GuestRun, type ResolvedJob } from './guest/channel.js';
import type { RunOptions } from './sandbox.js';

/** Runs the jobs of a pool. `run` throws GuestLost if the guest ends during the job. */
export interface Runner<Job, Run> {
  readonly usable: boolean;
  fits(job: Job): boolean;
  run(job: Job): Promise<Run>;
  /** Whether the guest still answers. The pool calls this before every job. */
  check?(): Promise<boolean>;
  close(): Promise<void>;
}

export const canRun = async <Job>(
  runner: Pick<Runner<Job, unknown>, 'usable' | 'fits' | 'check'>,
  job: Job,
): Promise<boolean> => runner.usable && runner.fits(job) && (await (runner.check?.() ?? true));

interface PoolOptions<Job, Run> {
  size: number; // the number of guests
  depth: number; // the number of jobs that one guest has at the same time
  open(job: Job): Promise<Runner<Job, Run>>; // opens a guest that fits this job
  spares?: number; // the number of idle guests that are kept ready after the first job
  takeTurns?: boolean; // prefers the guest that was idle longest, because that one has cleaned up by now
  patienceMs?: number; // how long the pool waits during an outage; default: it makes three attempts without a pause
}

/** When a job has ended two guests, a new guest runs a known program (the canary). If its answer is right, the job is to blame. */
export interface BlamePolicy<Job, Run> {
  canary(like: Job): Job;
  isCanaryAnswer(run: Run): boolean;
  blame(job: Job, message: string, memory: boolean): Run;
}

interface Task<Job, Run> {
  job: Job;
  alone: boolean; // the task runs while no other job is running
  losses: number; // the number of guests that ended while they ran this job
  moves: number; // the number of guests that ended while this job waited in them
  cancelled: boolean;
  resolve(run: Run): void;
  reject(error: Error): void;
}
interface Slot<Job, Run> {
  guest?: Promise<Runner<Job, Run>>;
  inFlight: number;
  turn: number; // the sequence number of the latest job
}

const OPEN_ATTEMPTS = 3;
const MAX_MOVES = 50;
const FIRST_PAUSE_MS = 100; // each later pause is twice as long, up to LONGEST_PAUSE_MS
const LONGEST_PAUSE_MS = 5000;

export class Pool<Job, Run extends { wallHit: boolean }> {
  #queue: Task<Job, Run>[] = [];
  #alone: Task<Job, Run>[] = [];
  #slots: Slot<Job, Run>[];
  #closed = false;
  #isAloneRunning = false;
  #turns = 0;
  #spares: Promise<Runner<Job, Run> | undefined>[] = [];
  #outageSince: number | undefined; // when the infrastructure first failed after the latest answer of a guest
  #closing = new AbortController();

  constructor(
    readonly options: PoolOptions<Job, Run>,
    readonly policy: BlamePolicy<Job, Run>,
  ) {
    this.#slots = Array.from({ length: options.size }, () => ({ inFlight: 0, turn: 0 }));
  }

  /** Returns runs in the order of the jobs. Rejects with SANDBOX_FAULT, or with the signal's reason. */
  async runAll(jobs: Job[], { signal, onProgress }: RunOptions = {}): Promise<Run[]> {
    signal?.throwIfAborted();
    if (this.#closed) throw new GauntletError('SANDBOX_FAULT', 'the sandbox is closed');
    let done = 0;
    const tasks: Task<Job, Run>[] = [];
    const results = jobs.map((job) =>
      new Promise<Run>((resolve, reject) => {
        tasks.push({ job, alone: false, losses: 0, moves: 0, cancelled: false, resolve, reject });
      }).then((run) => {
        onProgress?.(++done);
        return run;
      }),
    );
    const cancel = () => {
      for (const task of tasks) {
        task.cancelled = true;
        task.reject(signal?.reason instanceof Error ? signal.reason : new GauntletError('SANDBOX_FAULT', 'cancelled'));
      }
      this.#queue = this.#queue.filter((task) => !task.cancelled);
      this.#alone = this.#alone.filter((task) => !task.cancelled);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      this.#queue = this.#queue.concat(tasks);
      this.#pump();
      return await Promise.all(results);
    } catch (error) {
      cancel();
      throw error;
    } finally {
      signal?.removeEventListener('abort', cancel);
      void Promise.allSettled(results);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#closing.abort();
    for (const task of [...this.#queue.splice(0), ...this.#alone.splice(0)])
      task.reject(new GauntletError('SANDBOX_FAULT', 'the sandbox was closed'));
    const guests = [...this.#slots.map((slot) => slot.guest), ...this.#spares.splice(0)];
    await Promise.all(
      guests.map(async (opening) => {
        const guest = await opening?.catch(() => undefined);
        await guest?.close();
      }),
    );
  }

  #pump(): void {
    for (;;) {
      const busy = this.#slots.reduce((sum, slot) => sum + slot.inFlight, 0);
      if (this.#alone.length > 0) {
        if (busy === 0) void this.#start(this.#slots[0]!, this.#alone.shift()!);
        return;
      }
      const slot = this.#slots.reduce((best, one) => (this.#isBefore(one, best) ? one : best));
      if (this.#isAloneRunning || this.#queue.length === 0 || slot.inFlight >= this.options.depth) return;
      void this.#start(slot, this.#queue.shift()!);
    }
  }

  #isBefore(a: Slot<Job, Run>, b: Slot<Job, Run>): boolean {
    if (a.inFlight !== b.inFlight) return a.inFlight < b.inFlight;
    return this.options.takeTurns === true && a.turn < b.turn;
  }

  async #start(slot: Slot<Job, Run>, task: Task<Job, Run>): Promise<void> {
    slot.inFlight++;
    slot.turn = ++this.#turns;
    if (task.alone) this.#isAloneRunning = true;
    try {
      const guest = await this.#ready(slot, task.job);
      const run = await guest.run(task.job);
      this.#outageSince = undefined;
      if (run.wallHit && !task.alone) {
        task.alone = true;
        if (!task.cancelled) this.#alone.push(task);
      } else task.resolve(run);
    } catch (error) {
      await this.#recover(slot, task, error as Error);
    } finally {
      slot.inFlight--;
      if (task.alone) this.#isAloneRunning = false;
      this.#pump();
    }
  }

  /** Returns the slot's guest, or a new one if there is none, if it has ended, or if the job does not fit it. */
  async #ready(slot: Slot<Job, Run>, job: Job): Promise<Runner<Job, Run>> {
    for (;;) {
      const seen = slot.guest;
      const current = await seen?.catch(() => undefined);
      if (current && (await canRun(current, job))) return current;
      if (slot.guest === seen) {
        slot.guest = this.#take(job);
        void current?.close();
      }
      await slot.guest;
    }
  }

  /** Returns a spare guest that fits, or a new guest. Starts new spares in the background. */
  async #take(job: Job): Promise<Runner<Job, Run>> {
    const spare = this.#spares.shift();
    const guest = spare ? await spare : undefined;
    const fits = guest && (await canRun(guest, job));
    if (!fits) void guest?.close();
    const taken = fits ? guest : await this.#open(job);
    while (!this.#closed && this.#spares.length < (this.options.spares ?? 0))
      this.#spares.push(this.options.open(job).catch(() => undefined)); // a later #open reports the failure
    return taken;
  }

  async #open(job: Job): Promise<Runner<Job, Run>> {
    for (let attempt = 1; ; attempt++) {
      if (this.#closed) throw new GauntletError('SANDBOX_FAULT', 'the sandbox was closed');
      try {
        return await this.options.open(job);
      } catch (error) {
        if (error instanceof GauntletError && !error.retryable) throw error;
        const message = (error as Error).message.split('\n')[0];
        if (attempt >= OPEN_ATTEMPTS && !this.#mayWait())
          throw new GauntletError('SANDBOX_FAULT', `no sandbox could be started: ${message}`, { cause: error });
        await this.#pause(attempt);
      }
    }
  }

  /** Whether the pool keeps waiting during an outage. The first call marks the beginning of the outage. */
  #mayWait(): boolean {
    this.#outageSince ??= performance.now();
    return performance.now() - this.#outageSince < (this.options.patienceMs ?? 0);
  }

  async #pause(attempt: number): Promise<void> {
    if (!this.options.patienceMs) return;
    const ms = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
    await setTimeout(ms, undefined, { signal: this.#closing.signal }).catch(() => {});
  }

  #putBack(task: Task<Job, Run>): void {
    (task.alone ? this.#alone : this.#queue).unshift(task);
  }

  /** Queues a job again whose guest was lost. After the second loss, the job is to blame if a fresh guest still works. */
  async #recover(slot: Slot<Job, Run>, task: Task<Job, Run>, error: Error): Promise<void> {
    if (!(error instanceof GuestLost)) return task.reject(error);
    if (this.#closed) return task.reject(new GauntletError('SANDBOX_FAULT', 'the sandbox was closed'));
    if (task.cancelled) return;
    if (error.by === 'infrastructure') {
      if (!this.#mayWait()) return task.reject(new GauntletError('SANDBOX_FAULT', error.message));
      this.#putBack(task);
      return;
    }
    if (!error.running && ++task.moves > MAX_MOVES)
      return task.reject(new GauntletError('SANDBOX_FAULT', error.message));
    if (error.running && ++task.losses >= 2) {
      try {
        const guest = await this.#ready(slot, task.job);
        const run = await guest.run(this.policy.canary(task.job));
        if (!this.policy.isCanaryAnswer(run)) throw new Error('a known program returned a wrong answer');
        const message = `the program ended its sandbox: ${error.message}`;
        return task.resolve(this.policy.blame(task.job, message, error.memory));
      } catch (fault) {
        if (fault instanceof GuestLost && fault.by === 'infrastructure' && this.#mayWait()) {
          task.losses = 1;
          this.#putBack(task);
          return;
        }
        return task.reject(new GauntletError('SANDBOX_FAULT', `${error.message}; ${(fault as Error).message}`));
      }
    }
    this.#putBack(task);
  }
}

const valuesPolicy: BlamePolicy<ResolvedJob, GuestRun> = {
  canary: ({ limits }) => ({
    id: 'canary',
    code: 'def canary(x):\n  return x + 1\n',
    entry: 'canary',
    inputs: [[41]],
    limits,
  }),
  isCanaryAnswer: ({ calls: [answer] }) => answer?.kind === 'value' && answer.value === 42,
  blame: (job, message, memory) => {
    const kind = memory ? 'memory' : 'error';
    return { calls: job.inputs.map(() => ({ kind, message })), ms: 0, wallHit: false };
  },
};

/** Runs programs on inputs. */
export class GuestPool extends Pool<ResolvedJob, GuestRun> {
  constructor(options: PoolOptions<ResolvedJob, GuestRun>) {
    super(options, valuesPolicy);
  }

  /** The programs share the memory for kept answers equally, so a large answer harms only its own program. */
  async run<Kept = Value>(jobs: ExecutionJob<Kept>[], options: RunOptions = {}): Promise<ExecutionResult<Kept>[]> {
    const some = jobs.flatMap((job, at) => (job.inputs.length > 0 ? [{ job, at }] : []));
    const skipped = jobs.length - some.length;
    const bytes = Math.min(PROGRAM_BYTES, Math.floor(BATCH_BYTES / some.length));
    for (let done = 1; done <= skipped; done++) options.onProgress?.(done);
    const runs = await this.runAll(
      some.map(({ job }) => ({
        ...job,
        limits: limitsSchema.parse(job.limits ?? {}),
        reduce: job.reduce ?? keepWithin(bytes),
      })),
      { ...options, onProgress: (done) => options.onProgress?.(done + skipped) },
    );
    const results = jobs.map(({ id }): ExecutionResult<Kept> => ({ id, calls: [], ms: 0 }));
    for (const [i, { at }] of some.entries())
      results[at] = { id: jobs[at]!.id, calls: runs[i]!.calls as CallResult<Kept>[], ms: runs[i]!.ms };
    return results;
  }
}

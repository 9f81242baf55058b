// Spreads jobs over guests, replaces guests that ended, and keeps verdicts independent of the machine's load: what the
// wall clock ended is run once more with nothing else in flight. Knows no backend.
import { GauntletError } from '../core/errors.js';
import { type ExecutionJob, type ExecutionResult, limitsSchema } from '../core/schema/execution.js';
import { type Guest, GuestLost, type GuestRun, type ResolvedJob } from './guest/channel.js';

export interface PoolOptions {
  size: number; // guests
  depth: number; // jobs sent to one guest ahead of its answers
  open(job: ResolvedJob): Promise<Guest>; // a guest that fits this job
}

interface Task {
  job: ResolvedJob;
  alone: boolean; // nothing else runs beside it
  losses: number; // guests that ended while they ran it
  moves: number; // guests that ended while it waited there
  cancelled: boolean;
  resolve(run: GuestRun): void;
  reject(error: Error): void;
}
interface Slot {
  guest?: Promise<Guest>;
  inFlight: number;
}

const OPEN_ATTEMPTS = 3;
const MAX_MOVES = 50;
const CANARY = { code: 'def canary(x):\n  return x + 1\n', entry: 'canary', inputs: [[41]] };

export class GuestPool {
  #queue: Task[] = [];
  #alone: Task[] = [];
  #slots: Slot[];
  #closed = false;
  #isAloneRunning = false;

  constructor(readonly options: PoolOptions) {
    this.#slots = Array.from({ length: options.size }, () => ({ inFlight: 0 }));
  }

  /** Results in the order of the jobs. Rejects with SANDBOX_FAULT, or with the signal's reason. */
  async run(
    jobs: ExecutionJob[],
    { signal, onProgress }: { signal?: AbortSignal; onProgress?: (done: number) => void } = {},
  ): Promise<ExecutionResult[]> {
    signal?.throwIfAborted();
    if (this.#closed) throw new GauntletError('SANDBOX_FAULT', 'the sandbox is closed');
    let done = 0;
    const tasks: Task[] = [];
    const results = jobs.map((job) => {
      const limits = limitsSchema.parse(job.limits ?? {});
      return new Promise<GuestRun>((resolve, reject) => {
        const resolved = { ...job, limits };
        if (job.inputs.length === 0) return resolve({ calls: [], ms: 0, wallHit: false });
        tasks.push({ job: resolved, alone: false, losses: 0, moves: 0, cancelled: false, resolve, reject });
      }).then((run): ExecutionResult => {
        onProgress?.(++done);
        return { id: job.id, calls: run.calls, ms: run.ms };
      });
    });
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
      this.#queue.push(...tasks);
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
    for (const task of [...this.#queue.splice(0), ...this.#alone.splice(0)])
      task.reject(new GauntletError('SANDBOX_FAULT', 'the sandbox was closed'));
    await Promise.all(
      this.#slots.map(async (slot) => {
        const guest = await slot.guest?.catch(() => undefined);
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
      const slot = this.#slots.reduce((best, one) => (one.inFlight < best.inFlight ? one : best));
      if (this.#isAloneRunning || this.#queue.length === 0 || slot.inFlight >= this.options.depth) return;
      void this.#start(slot, this.#queue.shift()!);
    }
  }

  async #start(slot: Slot, task: Task): Promise<void> {
    slot.inFlight++;
    if (task.alone) this.#isAloneRunning = true;
    try {
      const guest = await this.#ready(slot, task.job);
      const run = await guest.run(task.job);
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

  /** The slot's guest, or a new one where it has none, its guest has ended, or the job does not fit. */
  async #ready(slot: Slot, job: ResolvedJob): Promise<Guest> {
    for (;;) {
      const seen = slot.guest;
      const current = await seen?.catch(() => undefined);
      if (current?.usable && current.fits(job)) return current;
      if (slot.guest === seen) {
        slot.guest = this.#open(job);
        void current?.close();
      }
      await slot.guest;
    }
  }

  async #open(job: ResolvedJob): Promise<Guest> {
    for (let attempt = 1; ; attempt++) {
      if (this.#closed) throw new GauntletError('SANDBOX_FAULT', 'the sandbox was closed');
      try {
        return await this.options.open(job);
      } catch (error) {
        if (error instanceof GauntletError && !error.retryable) throw error;
        const message = (error as Error).message.split('\n')[0];
        if (attempt === OPEN_ATTEMPTS)
          throw new GauntletError('SANDBOX_FAULT', `no sandbox could be started: ${message}`, { cause: error });
      }
    }
  }

  /** A job that was only waiting goes back. One whose guest ended twice is to blame if a fresh guest still works. */
  async #recover(slot: Slot, task: Task, error: Error): Promise<void> {
    if (!(error instanceof GuestLost)) return task.reject(error);
    if (this.#closed) return task.reject(new GauntletError('SANDBOX_FAULT', 'the sandbox was closed'));
    if (task.cancelled) return;
    if (!error.running && ++task.moves > MAX_MOVES)
      return task.reject(new GauntletError('SANDBOX_FAULT', error.message));
    if (error.running && ++task.losses >= 2) {
      try {
        const guest = await this.#ready(slot, task.job);
        const run = await guest.run({ ...task.job, ...CANARY, id: 'canary' });
        const [answer] = run.calls;
        if (answer?.kind !== 'value' || answer.value !== 42) throw new Error('a known program gave another answer');
        const message = `the program ended its sandbox: ${error.message}`;
        return task.resolve({ calls: task.job.inputs.map(() => ({ kind: 'error', message })), ms: 0, wallHit: false });
      } catch (fault) {
        return task.reject(new GauntletError('SANDBOX_FAULT', `${error.message}; ${(fault as Error).message}`));
      }
    }
    (task.alone ? this.#alone : this.#queue).unshift(task);
  }
}

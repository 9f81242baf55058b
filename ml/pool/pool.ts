// A pool of worker threads. Each runs one job at a time, and the result of a job does not depend on its worker. If a worker dies,
// its job fails with ENGINE_FAULT and the worker is replaced. An aborted job stops at its next check. If the memory of a card is
// full, the worker ends, which frees all that it holds there, and another one tries the job once more.
import { setMaxListeners } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { ERROR_CODES, type ErrorCode, GauntletError } from '../../core/base/errors.js';
import { startThread } from '../../infra/scripts.js';
import { releaseOwnedBy } from '../device/owned.js';

/** The main thread sends this to a worker. `stop` holds one number. Any number except 0 tells the job to stop. */
export interface JobMessage {
  id: number;
  job: unknown;
  stop: Int32Array;
}
/** A worker sends this to the main thread. */
export type WorkerMessage =
  | { id: number; kind: 'progress'; amount: number }
  | { id: number; kind: 'done'; result: unknown }
  | { id: number; kind: 'failed'; code: string; message: string };

export interface RunOptions {
  signal?: AbortSignal;
  onProgress?: (amount: number) => void;
}

interface BatchOptions extends RunOptions {
  concurrency?: number; // jobs that run or are queued at a time; default: all
}

interface Task {
  message: JobMessage;
  options: RunOptions;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  settled: boolean;
  isRepeated?: boolean;
}

interface Member {
  worker: Worker;
  task?: Task;
}

export class WorkerPool {
  private readonly members: Member[] = [];
  private readonly queue: Task[] = [];
  private nextId = 1;
  private closed = false;

  /** Workers start when there is work. @param workerData what every worker gets when it starts */
  constructor(
    private readonly script: URL,
    private readonly workerData: unknown,
    readonly size: number,
  ) {}

  /** @throws {GauntletError} from the job, or ENGINE_FAULT if its worker died; on abort, the signal's reason */
  run<T>(job: unknown, options: RunOptions = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { signal } = options;
      if (this.closed) return reject(new GauntletError('ENGINE_FAULT', 'the engine is closed'));
      if (signal?.aborted) return reject(signal.reason);
      const message = { id: this.nextId++, job, stop: new Int32Array(new SharedArrayBuffer(4)) };
      const onAbort = (): void => {
        Atomics.store(message.stop, 0, 1);
        const queued = this.queue.indexOf(task);
        if (queued >= 0) this.queue.splice(queued, 1);
        settle(() => reject(signal!.reason));
      };
      const settle = (resolveOrReject: () => void): void => {
        if (task.settled) return;
        task.settled = true;
        signal?.removeEventListener('abort', onAbort);
        resolveOrReject();
      };
      const task: Task = {
        message,
        options,
        settled: false,
        resolve: (result) => settle(() => resolve(result as T)),
        reject: (error) => settle(() => reject(error)),
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.queue.push(task);
      this.dispatch();
    });
  }

  /** Runs jobs in parallel. @returns results in the order of the jobs. The first failure stops the others. */
  async runAll<T>(jobs: readonly unknown[], options: BatchOptions = {}): Promise<T[]> {
    const results: T[] = [];
    await this.runInOrder<T>(jobs, options, (result) => results.push(result));
    return results;
  }

  /** Like runAll, but passes each result on, in the order of the jobs, as soon as all earlier ones are done. */
  async runInOrder<T>(
    jobs: readonly unknown[],
    { concurrency = jobs.length, ...options }: BatchOptions,
    take: (result: T, index: number) => void,
  ): Promise<void> {
    const stop = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
    setMaxListeners(jobs.length + 1, signal); // one listener per job
    const early = new Map<number, T>();
    let next = 0;
    const waiting = jobs.entries(); // shared, so each job runs once
    const runs = Array.from({ length: Math.min(concurrency, jobs.length) }, async () => {
      for (const [index, job] of waiting) {
        early.set(index, await this.run<T>(job, { ...options, signal }));
        for (; early.has(next); next++) {
          take(early.get(next)!, next);
          early.delete(next);
        }
      }
    });
    try {
      await Promise.all(runs);
    } catch (error) {
      stop.abort(error);
      await Promise.allSettled(runs);
      throw error;
    }
  }

  /** Lets the workers close their sessions. Queued and running jobs fail. */
  async close(): Promise<void> {
    this.closed = true;
    const error = new GauntletError('ENGINE_FAULT', 'the engine was closed');
    for (const task of this.queue.splice(0)) task.reject(error);
    await Promise.all(
      this.members.splice(0).map(async ({ worker, task }) => {
        if (task) {
          Atomics.store(task.message.stop, 0, 1);
          task.reject(error);
        }
        const exited = new Promise((resolve) => worker.once('exit', resolve));
        worker.postMessage('close');
        await exited;
      }),
    );
  }

  private dispatch(): void {
    // a worker that still stops an aborted job is soon free; another one would load the model again
    const stopping = this.members.some(({ task }) => task?.settled);
    while (this.queue.length > 0) {
      const free =
        this.members.find((m) => !m.task) ??
        (this.members.length < this.size && !stopping ? this.startWorker() : undefined);
      if (!free) return;
      free.task = this.queue.shift()!;
      free.worker.postMessage(free.task.message);
    }
  }

  private startWorker(): Member {
    const member: Member = { worker: startThread(this.script, this.workerData) };
    const { threadId } = member.worker; // unknown once the worker has ended
    const died = (reason: string): void => {
      const at = this.members.indexOf(member);
      if (at >= 0) this.members.splice(at, 1);
      member.task?.reject(new GauntletError('ENGINE_FAULT', `a model worker died: ${reason}`));
      this.dispatch();
    };
    member.worker.on('message', (message: WorkerMessage) => this.receive(member, message));
    member.worker.on('error', (error) => died(error.message));
    member.worker.on('exit', (status) => {
      releaseOwnedBy(threadId);
      died(`exit status ${status}`);
    });
    this.members.push(member);
    return member;
  }

  private receive(member: Member, message: WorkerMessage): void {
    const { task } = member;
    if (!task || task.message.id !== message.id) return;
    if (message.kind === 'progress') {
      if (!task.settled) task.options.onProgress?.(message.amount);
      return;
    }
    member.task = undefined;
    if (message.kind === 'failed' && message.code === 'OUT_OF_MEMORY') {
      this.members.splice(this.members.indexOf(member), 1);
      void member.worker.terminate();
      if (!task.isRepeated && !task.settled) this.queue.unshift(Object.assign(task, { isRepeated: true }));
      if (this.queue.includes(task)) return; // another worker starts when this thread has ended
    }
    if (!task.settled) task.options.onProgress?.(0); // the end of a job counts as progress of its batch
    if (message.kind === 'done') task.resolve(message.result);
    else task.reject(toError(message.code, message.message));
    this.dispatch();
  }
}

function toError(code: string, message: string): GauntletError {
  return code in ERROR_CODES
    ? new GauntletError(code as ErrorCode, message)
    : new GauntletError('ENGINE_FAULT', message);
}

// One locked-down Node process with an interpreter, and the watch over it. CPU time is read from the kernel, so that a
// call which never returns to the interpreter's loop (one huge power, a sleep) ends as well.
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import type { Limits } from '../../core/schema/execution.js';
import type { Value } from '../../core/schema/value.js';
import { plainScript } from '../../infra/scripts.js';
import {
  type Guest,
  GuestChannel,
  GuestLost,
  type GuestRun,
  type ResolvedJob,
  type Session,
} from '../guest/channel.js';
import { encodeFrame, type SessionSpec } from '../guest/frames.js';
import { guestSource } from '../guest/source.js';
import { pyodideFolder, pyodideUrl } from './snapshot.js';

const CHILD = plainScript(new URL('./child.mjs', import.meta.url));
const SIBLINGS = ['files.mjs', 'lockdown.mjs'].map((file) => join(dirname(CHILD), file));
const CLOCK = '/proc/thread-self/schedstat'; // shows the CPU time of the child's main thread; only Linux has it
const MAX_JOBS = 5000;
const LOOK_EVERY = 50; // ms
const CPU_GRACE = 0.25; // seconds beyond a limit in which the child itself can end the program
const WALL_GRACE = 0.5; // seconds of wall time beyond a limit, for the same reason
const CPU_RETIRE = 200; // CPU seconds after which a process is replaced
const CPU_TOTAL = 300; // CPU seconds after which the kernel ends a process that nothing else has ended
const START_SECONDS = 60;
/**
 * Sizes of V8's stack in KiB. A recursion that fills the stack breaks the interpreter; with a deep stack, Python raises
 * RecursionError before. The first of DEEP_STACKS that the system allows is used, otherwise STACK.
 */
const [DEEP_STACKS, STACK, STACK_MARGIN] = [[250_000, 60_000], 3900, 4000];
const [SWALLOWED, SWALLOWED_CALL] = [9, 10]; // the exit status if a program, or one of its calls, goes on beyond its limit
const CALL_LATE = 'no answer within the limit of CPU time of one call';

/** Node's flags for a process that may read the interpreter, but may not write, start processes or threads, or evaluate text. */
export function lockdownFlags(snapshot: string): string[] {
  const permission = process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission';
  const readable = [`${pyodideFolder()}/`, CHILD, ...SIBLINGS, snapshot, CLOCK];
  return [
    '--no-warnings',
    permission,
    ...readable.map((path) => `--allow-fs-read=${path}`),
    '--disallow-code-generation-from-strings',
    '--max-old-space-size=256',
  ];
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts the child. It reads jobs from descriptor 0 and writes answers to descriptor 3. Its time zone is always UTC. */
function spawnLocked(script: string, snapshot: string, args: string[], cpuSeconds: number): ChildProcess {
  const options = [...lockdownFlags(snapshot), script, ...args];
  const limits = `ulimit -c 0; ulimit -t ${Math.ceil(CPU_TOTAL + 2 * cpuSeconds)}`;
  const deepest = `for deep in ${DEEP_STACKS.join(' ')}; do ulimit -s $((deep + ${STACK_MARGIN})) 2>/dev/null && size=$deep && break; done`;
  const start = `${limits}; size=${STACK}; ${deepest}; exec "$0" --stack-size=$size "$@"`;
  const [file, argv] =
    process.platform === 'win32'
      ? [process.execPath, [`--stack-size=${STACK}`, ...options]]
      : ['/bin/sh', ['-c', start, process.execPath, ...options]];
  return spawn(file, argv, { env: { TZ: 'UTC' }, stdio: ['pipe', 'ignore', 'pipe', 'pipe'], detached: false });
}

export class WasmProcess implements Guest {
  #channel: GuestChannel;
  #watch?: NodeJS.Timeout;
  #child: ChildProcess;
  #exited: Promise<void>;
  #stderr = '';
  #cpuOfExpired = 0; // the CPU seconds that a job had used when one of its calls ended the process

  private constructor(
    readonly snapshot: string,
    readonly cpuSeconds: number,
  ) {
    const child = spawnLocked(CHILD, snapshot, [pyodideUrl(), snapshot], cpuSeconds);
    this.#child = child;
    const stop = () => void child.kill('SIGKILL');
    this.#channel = new GuestChannel({ write: (data) => void child.stdin!.write(data), destroy: stop }, MAX_JOBS);
    child.stdin!.on('error', () => {}); // the handler of the exit deals with a dead child
    child.stderr!.on('data', (text) => {
      this.#stderr = (this.#stderr + text).slice(-2000);
    });
    (child.stdio[3] as NodeJS.ReadableStream).on('data', (data: Buffer) => this.#channel.feed(data));
    running.add(child);
    this.#exited = new Promise((resolve) => {
      const gone = (status: unknown) => {
        running.delete(child);
        clearInterval(this.#watch);
        if (status === SWALLOWED_CALL) this.#expireCall();
        else if (status === SWALLOWED) this.#channel.expire('no answer within the limit of CPU time', false);
        else
          this.#channel.end(
            `the interpreter's process ended (${status}) ${this.#stderr.trim().split('\n').pop()}`.trim(),
          );
        resolve();
      };
      child.once('error', gone).once('close', gone);
    });
  }

  /** @param cpuSeconds the largest CPU limit of its jobs */
  static async start(snapshot: string, cpuSeconds: number): Promise<WasmProcess> {
    const guest = new WasmProcess(snapshot, cpuSeconds);
    const timer = setTimeout(() => guest.#channel.end('the interpreter did not start in time'), START_SECONDS * 1000);
    try {
      guest.#channel.transport.write(encodeFrame({ guest: guestSource('wasm') }));
      await guest.#channel.ready;
      return guest;
    } finally {
      clearTimeout(timer);
    }
  }

  get usable(): boolean {
    return this.#channel.usable;
  }

  fits(job: { limits: Limits }): boolean {
    return job.limits.cpuSeconds <= this.cpuSeconds; // the memory limit is set for every job
  }

  async run(job: ResolvedJob): Promise<GuestRun> {
    this.#watch ??= setInterval(() => this.#look(), LOOK_EVERY);
    const run = await this.#channel.run(job).finally(() => this.#rest());
    return run.calls.length < job.inputs.length ? this.#runRest(job, run) : run;
  }

  /** Runs the calls that come after the one that ended this process. They run in a fresh process and share what is left of the limits. */
  async #runRest(job: ResolvedJob, { calls, ms }: GuestRun): Promise<GuestRun> {
    const inputs = job.inputs.slice(calls.length);
    const limits = {
      ...job.limits,
      cpuSeconds: job.limits.cpuSeconds - this.#cpuOfExpired,
      wallSeconds: job.limits.wallSeconds - ms / 1000,
    };
    if (limits.cpuSeconds <= 0 || limits.wallSeconds <= 0) {
      const late = inputs.map(() => ({ kind: 'timeout' as const, message: 'no answer within the limit of CPU time' }));
      return { calls: [...calls, ...late], ms, wallHit: limits.wallSeconds <= 0 };
    }
    const fresh = await WasmProcess.start(this.snapshot, this.cpuSeconds).catch((error: Error) => {
      throw new GuestLost(error.message, false);
    });
    try {
      const { reduce } = job;
      const shifted = reduce && ((answer: Value, call: number) => reduce(answer, call + calls.length));
      const truth = job.truth?.map((call) => call - calls.length);
      const rest = await fresh.run({ ...job, inputs, truth, limits, reduce: shifted });
      return { calls: [...calls, ...rest.calls], ms: ms + rest.ms, wallHit: rest.wallHit };
    } finally {
      await fresh.close();
    }
  }

  open(spec: SessionSpec, limits: Limits, onText: (text: string) => void): Session {
    this.#watch ??= setInterval(() => this.#look(), LOOK_EVERY);
    const session = this.#channel.open(spec, limits, onText);
    const rest = () => this.#rest();
    session.ended.then(rest, rest);
    return session;
  }

  #rest(): void {
    if (this.#channel.cpuAtHead > CPU_RETIRE) this.#channel.retire('the process has reached its CPU time');
    if (this.#channel.head) return;
    clearInterval(this.#watch);
    this.#watch = undefined;
  }

  async close(): Promise<void> {
    this.#channel.retire('closed');
    await this.#exited;
  }

  /**
   * Reads the clocks first, then what the guest has written, and decides last. So time after an answer does not count
   * against the program, even if the host is busy.
   */
  #look(): void {
    const { head } = this.#channel;
    const [cpu, now] = [this.#cpuUsed(), performance.now()];
    if (head) setImmediate(() => this.#channel.head === head && this.#judge(head.limits, cpu, now));
  }

  #judge(limits: Limits, cpu: number | undefined, now: number): void {
    if (cpu !== undefined && cpu - this.#channel.cpuAtHead > limits.cpuSeconds + CPU_GRACE)
      this.#channel.expire('no answer within the limit of CPU time', false);
    else if (cpu !== undefined && this.#cpuOfCall(cpu) > limits.caseCpuSeconds + CPU_GRACE) this.#expireCall();
    else if (now - this.#channel.headSince > (limits.wallSeconds + WALL_GRACE) * 1000)
      this.#channel.expire('no answer within the limit of time', true);
  }

  /** The CPU seconds of the running call; 0 while a program loads. */
  #cpuOfCall(cpu: number): number {
    return cpu - (this.#channel.cpuAtCall ?? cpu);
  }

  #expireCall(): void {
    const { head, cpuAtHead, cpuAtCall } = this.#channel;
    const least = (cpuAtCall ?? cpuAtHead) + (head ? head.limits.caseCpuSeconds : 0);
    this.#cpuOfExpired = (this.#cpuUsed() ?? least) - cpuAtHead;
    this.#channel.expire(CALL_LATE, false, 'call', this.#cpuOfExpired);
  }

  /** The CPU time of the child's main thread. Undefined if the system does not report it. */
  #cpuUsed(): number | undefined {
    try {
      const { pid } = this.#child;
      return Number.parseInt(fs.readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1'), 10) / 1e9;
    } catch {
      return undefined;
    }
  }
}

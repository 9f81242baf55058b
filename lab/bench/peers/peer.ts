// Runs a contender as a long-lived child process that answers JSON lines (see protocol.py), so that the contenders can take
// turns. Every failure becomes a one-line error.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { LabError } from '../../flags.js';

interface Pending {
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
}
interface Answer {
  id: number;
  result?: unknown;
  error?: string;
  cpu?: number; // the CPU seconds of all threads since the process started
}

export interface Timed<T> {
  result: T;
  cpuSeconds: number; // the CPU seconds that the process used for this request
}

const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL'); // a busy process would otherwise continue
});

export class Peer {
  private readonly pending = new Map<number, Pending>();
  private nextId = 1;
  private cpu = 0;
  private stderrTail = '';
  ended: string | undefined; // the reason why the process ended
  private readonly gone: Promise<void>;

  private constructor(
    readonly name: string,
    private readonly child: ChildProcess,
  ) {
    alive.add(child);
    child.stderr!.on('data', (chunk: Buffer) => {
      this.stderrTail = (this.stderrTail + chunk.toString()).slice(-2000);
    });
    child.stdin!.on('error', () => {}); // the event 'close' reports the error
    createInterface({ input: child.stdout! }).on('line', (line) => this.answer(line));
    this.gone = new Promise((settle) => {
      const end = (why: string): void => {
        alive.delete(child);
        const lines = this.stderrTail.trim().split('\n');
        const line = lines.findLast((text) => /error/i.test(text)) ?? lines.at(-1);
        this.ended ??= `${name} ended (${why})${line ? `: ${line}` : ''}`;
        for (const { reject, timer } of this.pending.values()) {
          clearTimeout(timer);
          reject(new LabError(this.ended));
        }
        this.pending.clear();
        settle();
      };
      child.on('error', (error) => end(error.message));
      child.on('close', (code, signal) => end(signal ?? `exit ${code}`));
    });
  }

  static start(name: string, command: string, args: string[], env: NodeJS.ProcessEnv = {}): Peer {
    const options = { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] as ('pipe' | 'ignore')[] };
    return new Peer(name, spawn(command, args, options));
  }

  /** @throws {LabError} the peer's error, the reason why it ended, or a timeout, which also ends the peer */
  async request<T>(op: string, body: object = {}, limitSeconds = 900): Promise<Timed<T>> {
    if (this.ended !== undefined) throw new LabError(this.ended);
    const id = this.nextId++;
    const {
      result,
      error,
      cpu = this.cpu,
    } = await new Promise<Answer>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.ended = `${this.name}: no answer to ${op} within ${limitSeconds} s`;
        this.child.kill('SIGKILL');
      }, limitSeconds * 1000);
      this.pending.set(id, { resolve, reject, timer });
      this.child.stdin!.write(`${JSON.stringify({ id, op, ...body })}\n`);
    });
    if (error !== undefined) throw new LabError(`${this.name}: ${error}`);
    const cpuSeconds = cpu - this.cpu;
    this.cpu = cpu;
    return { result: result as T, cpuSeconds };
  }

  /** Ends the process by ending its input. */
  async close(): Promise<void> {
    this.child.stdin!.end();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 5000);
    await this.gone;
    clearTimeout(timer);
  }

  private answer(line: string): void {
    let answer: Answer;
    try {
      answer = JSON.parse(line) as Answer;
    } catch {
      return; // a library printed this line
    }
    const pending = this.pending.get(answer.id);
    if (!pending) return;
    this.pending.delete(answer.id);
    clearTimeout(pending.timer);
    pending.resolve(answer);
  }
}

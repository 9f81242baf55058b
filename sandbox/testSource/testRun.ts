// Runs one job of test source in two processes: T runs the tests, S holds the program. All messages between them pass
// through this file, which checks each one.
import type { Limits, TestJob, TestRun } from '../../core/schema/execution.js';
import type { Guest, Session, SessionEnd } from '../guest/channel.js';
import { checkAnswer, checkNames, checkTester } from './exchange.js';
import { type Death, Report } from './testReport.js';

export type ResolvedTestJob = TestJob & { limits: Limits };
export interface TestSourceRun {
  tests: TestRun['tests'];
  ms: number;
  wallHit: boolean;
}
/** The guests of the two processes. The pair replaces a guest that has ended. */
export interface Guests {
  program(limits: Limits): Promise<Guest>;
  tests(limits: Limits): Promise<Guest>;
}

const MAX_FRAMES = 400_000; // the most messages that T may send in one job
const MAX_BYTES = 256 << 20; // the most bytes in these messages
const LEAST = 0.001; // no process is started if fewer seconds are left
const OBJECTS = 1_000_000; // how many object numbers each process S has for itself
const LATE: Death = { outcome: 'timeout', message: 'no time was left within the limits' };

const deathOf = ({ kind, message }: SessionEnd): Death =>
  kind === 'end' ? { outcome: 'error', message: `its process ended: ${message}` } : { outcome: kind, message };

type Start = { names: string } | Death; // the message with the program's names
interface Running {
  start: Promise<Start>;
  session?: Session;
  isUnwanted: boolean;
}

/** The process S. A process that ended is replaced when T needs one; all of them share one limit of CPU time. */
class Program {
  readonly lost: Promise<never>; // rejects if a guest ended or could not be opened
  fail!: (error: Error) => void;
  wallHit = false;
  #left: number;
  #starts = 0;
  #running: Running | undefined;
  #answer: ((text: string | Death) => void) | undefined;

  constructor(
    readonly job: ResolvedTestJob,
    readonly guests: Guests,
    readonly wallEnd: number,
  ) {
    this.#left = job.limits.cpuSeconds;
    this.lost = new Promise((_, reject) => {
      this.fail = reject;
    });
    this.lost.catch(() => {});
  }

  /** Starts the process that holds the program, if there is none. */
  start(): Promise<Start> {
    if (!this.#running) {
      const running: Running = { isUnwanted: false, start: Promise.resolve(LATE) };
      this.#running = running;
      running.start = this.#start(running);
      running.start.catch((error) => this.fail(error));
      return running.start;
    }
    return this.#running.start;
  }

  async #start(running: Running): Promise<Start> {
    const limits = remaining(this.job.limits, this.#left, this.wallEnd);
    if (!limits && this.#left > LEAST) this.wallHit = true;
    const guest = limits && (await this.guests.program(limits));
    if (!guest || running.isUnwanted) {
      this.#running = undefined;
      return LATE;
    }
    const reply = this.#nextAnswer();
    const first = OBJECTS * this.#starts++;
    const session = guest.open(
      { role: 'program', code: this.job.code, entry: this.job.entry ?? null, first },
      limits,
      (text) => {
        const answer = this.#answer;
        this.#answer = undefined;
        if (answer) answer(text);
        else session.end(); // the program sent a message that nobody had asked for
      },
    );
    running.session = session;
    session.ended.then(
      (end) => {
        if (this.#running === running) this.#running = undefined;
        this.#left -= end.used;
        this.wallHit ||= end.wallHit;
        this.#answer?.(deathOf(end));
      },
      (error) => this.fail(error),
    );
    const text = await reply;
    if (typeof text !== 'string') return text;
    const loaded = checkNames(text);
    return loaded.kind === 'names' ? { names: text } : { outcome: loaded.kind, message: loaded.message };
  }

  #nextAnswer(): Promise<string | Death> {
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  /** Sends a request of the tests to the program. Returns its answer as text, or how the program ended. */
  async ask(request: string): Promise<string | Death> {
    const start = await this.start();
    if ('outcome' in start) return start;
    const session = this.#running?.session;
    if (!session) return { outcome: 'error', message: 'its process ended between two calls' };
    const reply = this.#nextAnswer();
    session.send(request);
    return reply;
  }

  /** Ends the process and waits until its guest is free. */
  async stop(): Promise<void> {
    const running = this.#running;
    if (!running) return;
    running.isUnwanted = true;
    running.session?.end();
    await (running.session?.ended ?? running.start);
  }
}

function remaining(limits: Limits, cpuSeconds: number, wallEnd: number): Limits | undefined {
  const wallSeconds = (wallEnd - performance.now()) / 1000;
  if (cpuSeconds <= LEAST || wallSeconds <= LEAST) return undefined;
  return { ...limits, cpuSeconds, wallSeconds, caseCpuSeconds: Math.min(limits.caseCpuSeconds, cpuSeconds) };
}

/** @throws GuestLost if one of the guests ends during the job */
export async function runTestSource(job: ResolvedTestJob, guests: Guests): Promise<TestSourceRun> {
  await Promise.all([guests.program(job.limits), guests.tests(job.limits)]); // their start does not count as job time
  const started = performance.now();
  const wallEnd = started + job.limits.wallSeconds * 1000;
  const report = new Report(job.only && new Set(job.only));
  let [left, wallHit, isBroken] = [job.limits.cpuSeconds, false, false];
  let unloaded: Death | undefined;
  let rest: Death = { outcome: 'error', message: 'the tests ended before this one' };

  const program = new Program(job, guests, wallEnd);
  for (;;) {
    const limits = remaining(job.limits, left, wallEnd);
    if (!limits) {
      if (left > LEAST) wallHit = true; // there is CPU time left, so the wall time is used up
      rest = LATE;
      break;
    }
    const guest = await guests.tests(limits);
    let [isDone, isAsking, frames, bytes] = [false, false, 0, 0];
    const giveUp = () => {
      isBroken = true;
      session.end();
    };
    const serve = async (request: unknown) => {
      if (isAsking) return giveUp();
      isAsking = true;
      const answer = report.isStruck ? undefined : await program.ask(JSON.stringify(request));
      isAsking = false;
      if (typeof answer !== 'string') {
        if (answer) report.strike(answer);
        return session.send('{"dead":"the program ended"}');
      }
      const kind = checkAnswer(answer);
      if (kind === 'memory') report.strike({ outcome: 'memory', message: 'MemoryError' });
      if (kind) return session.send(answer);
      report.strike({ outcome: 'error', message: 'the program wrote into the answer channel' });
      await program.stop();
      session.send('{"dead":"the program ended"}');
    };
    const session = guest.open(
      {
        role: 'tests',
        style: job.style,
        files: job.files,
        entry: job.entry ?? null,
        skip: report.finished,
        only: job.only ?? null,
        imports: job.imports ?? '',
      },
      limits,
      (text) => {
        if (isBroken || isDone) return;
        const message = checkTester(text);
        bytes += text.length;
        if (!message || ++frames > MAX_FRAMES || bytes > MAX_BYTES) return giveUp();
        if ('q' in message) serve(message.q).catch(program.fail);
        else if ('tests' in message) report.announce(message.tests);
        else if ('begin' in message) report.begin(message.begin);
        else if ('done' in message) {
          isDone = true;
          session.end();
          program.stop().catch(() => {}); // both processes end at the same time
        } else if (message.end[0] === report.current) report.end(message.end[1], message.end[2]);
        else giveUp();
      },
    );
    const load = async () => {
      const first = await program.start();
      if ('names' in first) return session.send(first.names);
      unloaded = first;
      session.send('{"names":null}');
    };
    load().catch(program.fail);
    let end: SessionEnd;
    try {
      end = await Promise.race([session.ended, program.lost]);
    } finally {
      session.end();
      await Promise.allSettled([session.ended, program.stop()]);
    }
    wallHit ||= end.wallHit || program.wallHit;
    left -= end.used;
    if (isDone || isBroken) break;
    const death = deathOf(end);
    const interrupted = report.current;
    if (interrupted === undefined) {
      rest = death;
      if (report.finished.length === 0 && report.isComplete) report.announce(['tests']);
      break;
    }
    report.announce([interrupted]);
    report.end(death.outcome, death.message);
    if (report.isComplete) break;
  }
  if (isBroken) {
    report.announce(report.current === undefined ? ['tests'] : [report.current]);
    unloaded ??= { outcome: 'error', message: 'the tests wrote an invalid report' };
  }
  return { tests: report.result(rest, unloaded), ms: performance.now() - started, wallHit };
}

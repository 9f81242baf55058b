// Runs test source against programs in two processes that share no interpreter (docs/sandbox.md): T runs the tests and
// never sees the program; S holds the program and never sees a test. Pools pairs of guests, independent of the backend.
import { setTimeout } from 'node:timers/promises';
import { GauntletError } from '../../core/base/errors.js';
import { type Limits, limitsSchema, type TestJob, type TestRun } from '../../core/schema/execution.js';
import { type Guest, GuestLost } from '../guest/channel.js';
import { type BlamePolicy, canRun, Pool, type Runner } from '../pool.js';
import type { RunOptions } from '../sandbox.js';
import { type Guests, type ResolvedTestJob, runTestSource, type TestSourceRun } from './testRun.js';

type Role = 'program' | 'tests';
const PAUSE_MS = 300; // the pause after a guest failed to start
const TESTS_MB = 256; // how much more memory the tests' process may use than the program, because it loads pytest and numpy

/** One guest for the program and one for the tests. Each is opened when it is first needed, and replaced when it has ended. */
class Pair implements Runner<ResolvedTestJob, TestSourceRun>, Guests {
  readonly usable = true;
  #guests = new Map<Role, Promise<Guest>>();
  #closed = false;

  constructor(readonly open: Guests) {}

  fits(): boolean {
    return true;
  }

  async run(job: ResolvedTestJob): Promise<TestSourceRun> {
    try {
      return await runTestSource(job, this);
    } finally {
      // the next job needs both guests
      for (const role of ['program', 'tests'] as const) void this[role](job.limits).catch(() => {});
    }
  }

  program(limits: Limits): Promise<Guest> {
    return this.#guest('program', limits);
  }

  tests(limits: Limits): Promise<Guest> {
    return this.#guest('tests', { ...limits, memoryMb: limits.memoryMb + TESTS_MB });
  }

  async #guest(role: Role, limits: Limits): Promise<Guest> {
    const seen = this.#guests.get(role);
    const current = await seen?.catch(() => undefined);
    if (current && (await canRun(current, { limits }))) return current;
    if (this.#closed) throw new GauntletError('SANDBOX_FAULT', 'the sandbox was closed');
    if (this.#guests.get(role) === seen) {
      void current?.close();
      this.#guests.set(role, this.#start(role, limits));
    }
    return this.#guests.get(role)!;
  }

  async #start(role: Role, limits: Limits): Promise<Guest> {
    try {
      return await this.open[role](limits);
    } catch (error) {
      if (error instanceof GauntletError && !error.retryable) throw error;
      await setTimeout(PAUSE_MS);
      throw new GuestLost((error as Error).message.split('\n')[0]!, true, 'infrastructure');
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const guests = await Promise.allSettled(this.#guests.values());
    await Promise.all(guests.map((guest) => (guest.status === 'fulfilled' ? guest.value.close() : undefined)));
  }
}

const policy: BlamePolicy<ResolvedTestJob, TestSourceRun> = {
  canary: ({ limits }) => ({
    id: 'canary',
    code: 'def canary(x):\n  return x + 1\n',
    style: 'assert',
    files: { 'tests.py': 'assert canary(41) == 42' },
    limits,
  }),
  isCanaryAnswer: ({ tests }) => tests.length === 1 && tests[0]!.outcome === 'pass',
  blame: (_, message, memory) => ({
    tests: [{ name: 'tests', outcome: memory ? 'memory' : 'error', message }],
    ms: 0,
    wallHit: false,
  }),
};

/** Runs jobs of test source on pairs of guests. */
export class TestPool extends Pool<ResolvedTestJob, TestSourceRun> {
  constructor({ size, guests, patienceMs }: { size: number; guests: Guests; patienceMs?: number }) {
    super({ size, depth: 1, patienceMs, open: async () => new Pair(guests) }, policy);
  }

  async run(jobs: TestJob[], options: RunOptions = {}): Promise<TestRun[]> {
    const resolved = jobs.map((job) => ({ ...job, limits: limitsSchema.parse(job.limits ?? {}) }));
    const runs = await this.runAll(resolved, options);
    return runs.map(({ tests, ms }, i) => ({ id: jobs[i]!.id, tests, ms }));
  }
}

import assert from 'node:assert/strict';
import { GauntletError } from '../../core/base/errors.js';
import type { CallResult, ExecutionJob, TestJob } from '../../core/schema/execution.js';
import { GuestLost, type GuestRun, type ResolvedJob } from '../../sandbox/guest/channel.js';
import { judgePrograms, judgeSources } from '../../sandbox/judgePrograms.js';
import { GuestPool, type Runner } from '../../sandbox/pool.js';
import { parseProgramRow, parseSourceRow } from '../../sandbox/programRows.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { answerWith } from '../support/doubles.js';

const value = (value: number): CallResult => ({ kind: 'value', value });
const done = (job: ResolvedJob, wallHit = false): GuestRun => ({
  calls: job.entry === 'canary' ? [value(42)] : job.inputs.map(() => value(1)),
  ms: 1,
  wallHit,
});
const jobs = (...codes: string[]): ExecutionJob[] =>
  codes.map((code, i) => ({ id: `${i}`, code, entry: 'f', inputs: [[1]] }));
const badInput = (message: RegExp) => (error: unknown) =>
  error instanceof GauntletError && error.code === 'BAD_INPUT' && message.test(error.message);
const fault = (error: unknown) => error instanceof GauntletError && error.code === 'SANDBOX_FAULT' && error.retryable;

/** A guest with the behaviour `act` that counts the jobs in flight in its pool. */
function pool(act: (job: ResolvedJob, inFlight: () => number) => Promise<GuestRun>, size = 2, depth = 2) {
  const state = { opened: 0, closed: 0, inFlight: 0, most: 0 };
  const open = async (): Promise<Runner<ResolvedJob, GuestRun>> => {
    state.opened++;
    let usable = true;
    return {
      get usable() {
        return usable;
      },
      fits: (job) => job.limits.memoryMb <= 256 || state.opened > 2,
      run: async (job) => {
        state.most = Math.max(state.most, ++state.inFlight);
        try {
          return await act(job, () => state.inFlight);
        } catch (error) {
          usable = false;
          throw error;
        } finally {
          state.inFlight--;
        }
      },
      close: async () => {
        state.closed++;
      },
    };
  };
  return { pool: new GuestPool({ size, depth, open }), state };
}
const tick = () => new Promise((resolve) => setImmediate(resolve));

describe('the pool of guests', () => {
  it('spreads jobs over guests up to its depth and returns answers in order', async () => {
    const { pool: it, state } = pool(async (job) => {
      await tick();
      return { calls: [value(Number(job.id))], ms: 0, wallHit: false };
    });
    const results = await it.run(jobs(...Array(20).fill('')));
    assert.deepEqual(
      results.map(({ calls }) => calls[0]),
      Array.from({ length: 20 }, (_, i) => value(i)),
    );
    assert.equal(state.opened, 2);
    assert.equal(state.most, 4);
  });

  it('uses one guest after the other with the option takeTurns', async () => {
    const seen: number[] = [];
    let opened = 0;
    const it = new GuestPool({
      size: 3,
      depth: 2,
      takeTurns: true,
      open: async () => {
        const number = ++opened;
        return {
          usable: true,
          fits: () => true,
          run: async (job: ResolvedJob) => {
            seen.push(number);
            return done(job);
          },
          close: async () => undefined,
        } as never;
      },
    });
    for (const id of 'abcdef') await it.run(jobs(id));
    assert.deepEqual(seen, [1, 2, 3, 1, 2, 3]);
    await it.close();
  });

  it('opens one guest for one job', async () => {
    const { pool: it, state } = pool(async (job) => done(job));
    await it.run(jobs('a'));
    await it.run(jobs('b'));
    assert.equal(state.opened, 1);
    await it.close();
    assert.equal(state.closed, 1);
    await assert.rejects(it.run(jobs('c')), fault);
  });

  it('runs a job that hits the wall clock again alone, and counts only that run', async () => {
    const beside: number[] = [];
    let slow = 0;
    const { pool: it } = pool(async (job, inFlight) => {
      if (job.code !== 'slow') {
        await tick();
        return done(job);
      }
      slow++;
      if (slow === 1) return done(job, true);
      beside.push(inFlight());
      await tick();
      beside.push(inFlight());
      return { calls: [{ kind: 'timeout', message: 'again' }], ms: 0, wallHit: true };
    });
    const results = await it.run(jobs('slow', ...Array(20).fill('quick')));
    assert.equal(results[0]!.calls[0]!.kind, 'timeout');
    assert.equal(slow, 2);
    assert.deepEqual(beside, [1, 1]);
  });

  it('replaces a guest that has ended, and runs its job again', async () => {
    let runs = 0;
    const { pool: it, state } = pool(async (job) => {
      if (runs++ === 0) throw new GuestLost('gone', true);
      return done(job);
    });
    assert.deepEqual((await it.run(jobs('a')))[0]!.calls, [value(1)]);
    assert.equal(state.opened, 2);
  });

  it('blames a program that ends two guests if a known program still runs', async () => {
    const { pool: it } = pool(async (job) => {
      if (job.code === 'deadly') throw new GuestLost('gone', true);
      return done(job);
    });
    const [deadly, other] = await it.run(jobs('deadly', 'fine'));
    assert.equal(deadly!.calls[0]!.kind, 'error');
    assert.deepEqual(other!.calls, [value(1)]);
  });

  it('reports a fault of the infrastructure if no program runs', async () => {
    const { pool: it } = pool(async () => {
      throw new GuestLost('gone', true);
    });
    await assert.rejects(it.run(jobs('a')), fault);
    const waiting = pool(async () => {
      throw new GuestLost('gone', false);
    });
    await assert.rejects(waiting.pool.run(jobs('a')), fault);
    const wrong = pool(async (job) => {
      if (job.entry !== 'canary') throw new GuestLost('gone', true);
      return { calls: [value(41)], ms: 0, wallHit: false };
    });
    await assert.rejects(wrong.pool.run(jobs('a')), fault);
  });

  it('reports a fault after three failed starts, and passes on errors that are not retryable', async () => {
    let opened = 0;
    const failing = new GuestPool({
      size: 1,
      depth: 1,
      open: async () => {
        opened++;
        throw new Error('no space');
      },
    });
    await assert.rejects(failing.run(jobs('a')), (error) => fault(error) && /no space/.test((error as Error).message));
    assert.equal(opened, 3);
    const refused = new GauntletError('SANDBOX_UNAVAILABLE', 'no daemon');
    const unavailable = new GuestPool({ size: 1, depth: 1, open: () => Promise.reject(refused) });
    await assert.rejects(unavailable.run(jobs('a')), refused);
  });

  it('opens another guest for a job that does not fit into one', async () => {
    const { pool: it, state } = pool(async (job) => done(job), 1);
    const large = {
      ...jobs('b')[0]!,
      limits: { cpuSeconds: 1, caseCpuSeconds: 1, wallSeconds: 1, memoryMb: 512, outputBytes: 1 },
    };
    await it.run(jobs('a'));
    await it.run([large]);
    assert.ok(state.opened > 1);
  });

  it('rejects a run that is cancelled before its start or whose pool closes', async () => {
    const { pool: it } = pool(async (job) => done(job));
    await assert.rejects(it.run(jobs('a'), { signal: AbortSignal.abort(new Error('early')) }), /early/);
    const hanging = pool(() => new Promise(() => {}), 1, 1);
    const running = hanging.pool.run(jobs('a', 'b'));
    await tick();
    await hanging.pool.close();
    await assert.rejects(running, fault);
  });
});

describe('programs with tests', () => {
  const row = '{"id":"p","code":"def f(x): return x","entry":"f","tests":[[[1],1],[[2],3]]}';

  it('are refused with the name of a bad field', () => {
    assert.deepEqual(parseProgramRow(JSON.parse(row)).tests, [
      [[1], 1],
      [[2], 3],
    ]);
    const { limits } = parseProgramRow({ ...JSON.parse(row), limits: { memoryMb: 64 } });
    assert.deepEqual(limits, { memoryMb: 64 }, 'what a row does not name is the command’s to choose');
    const bad = (text: string, message: RegExp) =>
      assert.throws(() => parseProgramRow(JSON.parse(text)), badInput(message));
    bad('{"id":"p","entry":"f","tests":[[[1],1]]}', /^code/);
    bad('{"id":"p","code":"","entry":"f","tests":[]}', /^tests/);
    bad('{"id":"p","code":"","entry":"f","tests":[[[1.5],1]]}', /^tests/);
  });

  it('must have either one source or files with relative paths', () => {
    const row = { id: 'p', code: 'c' };
    const source = { ...row, test_source: 'assert f(1)' };
    const whole = { ...source, entry: 'f', limits: { memoryMb: 64 } };
    assert.deepEqual(parseSourceRow(whole, 'assert'), whole);
    const two = { ...row, files: { 'test_a.py': '', 'b/test_b.py': '' } };
    assert.deepEqual(parseSourceRow(two, 'pytest'), two);
    const bad = (given: object, message: RegExp, mode: 'assert' | 'pytest' = 'pytest') =>
      assert.throws(() => parseSourceRow(given, mode), badInput(message));
    bad(row, /^test_source: is missing$/);
    bad({ ...row, tests: [] }, /^test_source: is missing; a row with tests needs --mode values$/);
    bad({ ...source, files: two.files }, /^files: cannot be combined with test_source$/);
    bad({ ...row, files: {} }, /^files: is empty$/);
    bad(two, /^files: mode assert takes one file, got 2$/, 'assert');
    for (const path of ['/etc/a.py', '../a.py', 'a/../../b.py', 'a\\b.py', './a.py'])
      bad({ ...row, files: { [path]: '' } }, /^files\..*: must be a relative path without \. and \.\.$/);
    bad({ test_source: 'x' }, /^id: is missing$/);
  });

  it('are judged outside the sandbox, and the worst verdict is the outcome', async () => {
    let seen: ExecutionJob[] = [];
    const sandbox: Sandbox = {
      info: { kind: 'wasm' as const, description: '', boundary: false },
      runTests: async () => [],
      run: (given, options) => {
        seen = given as ExecutionJob[];
        return answerWith((_, [x]) => value(Number(x)))(given, options);
      },
      close: async () => {},
    };
    const outcomes = await judgePrograms(
      [parseProgramRow(JSON.parse(row.replace('[[2],3]', '[[2],"EXPECTED"]')))],
      sandbox,
    );
    assert.ok(!JSON.stringify(seen).includes('EXPECTED'));
    assert.deepEqual(outcomes, [{ id: 'p', outcome: 'fail', tests: ['pass', 'fail'], messages: [null, null], ms: 1 }]);
  });

  it('run with the limits of their row, and no tests are an error', async () => {
    let seen: TestJob[] = [];
    const sandbox = {
      info: { kind: 'wasm' as const, description: '', boundary: false },
      run: async () => [],
      runTests: async (jobs: TestJob[]) => {
        seen = jobs;
        const tests = [
          { name: 'test_a', outcome: 'pass' as const, message: null },
          { name: 'test_b', outcome: 'timeout' as const, message: 'too slow' },
        ];
        return jobs.map(({ id }) => ({ id, tests: id === 'none' ? [] : tests, ms: 7 }));
      },
      close: async () => {},
    };
    const rows = [
      { id: 'p', code: 'c', test_source: 'def test_a(): pass', limits: { cpuSeconds: 9 } },
      { id: 'none', code: 'c', entry: 'f', files: { 'a/test_a.py': '' } },
    ];
    const outcomes = await judgeSources(rows, 'pytest', sandbox, { limits: { cpuSeconds: 3, memoryMb: 64 } });
    assert.deepEqual(
      seen.map(({ style, entry, files, limits }) => [style, entry, files, limits?.cpuSeconds, limits?.memoryMb]),
      [
        ['pytest', undefined, { 'test_solution.py': 'def test_a(): pass' }, 9, 64],
        ['pytest', 'f', { 'a/test_a.py': '' }, 3, 64],
      ],
    );
    assert.deepEqual(outcomes, [
      {
        id: 'p',
        outcome: 'timeout',
        tests: ['pass', 'timeout'],
        names: ['test_a', 'test_b'],
        messages: [null, 'too slow'],
        ms: 7,
      },
      { id: 'none', outcome: 'error', tests: [], names: [], messages: [], ms: 7 },
    ]);
  });
});

import assert from 'node:assert/strict';

import { MockActivityEnvironment } from '@temporalio/testing';
import { openAttempt, type Work } from '../../activities/attempt.js';
import { toFailure } from '../../activities/failures.js';
import { beating, watched } from '../../activities/layers.js';
import type { Deps } from '../../chains/scope.js';
import { GauntletError } from '../../core/base/errors.js';
import { resolveConfig } from '../../core/config/presets.js';
import type { ExecutionJob } from '../../core/schema/execution.js';
import { trainPolicy } from '../../method/train.js';
import type { RolloutServer } from '../../ml/remote/rolloutServer.js';
import { hangBound } from '../../workers/environment.js';
import { currentProgress, HangWatch } from '../../workers/hangs.js';
import { observedDeps, progressObserver } from '../../workers/observe.js';
import { type Doubles, FakeEngine, memoryDoubles } from '../support/doubles.js';

const BOUND_MS = 200;
const NEVER = new Promise<never>(() => undefined);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const PROGRAM: ExecutionJob = { id: 'p', code: '', entry: 'f', inputs: [] };

const observed = (deps: Deps): Deps => observedDeps(deps, [progressObserver]);

describe('an activity that makes no progress', () => {
  let world: Doubles;
  let deps: Deps;
  let hangs: GauntletError[];
  let lines: [fields: object, message: string][];
  let watch: HangWatch;
  const { engine: engineConfig } = resolveConfig();

  const watchWith = (boundMs: number): HangWatch =>
    new HangWatch((error) => hangs.push(error), { error: (...line: unknown[]) => lines.push(line as never) }, boundMs);
  beforeEach(async () => {
    world = await memoryDoubles();
    deps = observed(world.deps);
    hangs = [];
    lines = [];
    watch = watchWith(BOUND_MS);
  });

  const attempt = () => openAttempt(deps, trainPolicy as never, {});
  const run = (work: Work | (() => Promise<unknown>), by = watch) =>
    new MockActivityEnvironment({ activityType: 'trainPolicy', attempt: 2 }).run(() =>
      watched(by)(work as Work)(attempt()),
    );

  it('ends the worker after a lasting error of CUDA, but not after another error', async () => {
    for (const code of ['ENGINE_FAULT', 'DEVICE_LOST'] as const) {
      const failed = run(() => Promise.reject(toFailure(new GauntletError(code, 'failure 700'))));
      await assert.rejects(failed, { type: code });
      assert.equal(hangs.length, code === 'DEVICE_LOST' ? 1 : 0);
    }
  });

  it('fails with NO_PROGRESS, and the log says what the activity was doing', async () => {
    world.engine.gradients = () => NEVER;
    const work = async () => {
      await deps.store.putJson([]);
      const engine = await deps.engine('tiny', engineConfig);
      await engine.gradients([], {} as never);
    };
    await assert.rejects(run(work), { type: 'NO_PROGRESS', nonRetryable: false });
    const [error] = hangs;
    assert.match(
      error!.message,
      /^trainPolicy hangs in engine\.gradients: no progress for \d+ s; its worker ends and must be started again$/,
    );
    const [[fields, message]] = lines as [[Record<string, unknown>, string]];
    assert.equal(message, error!.message);
    assert.deepEqual([fields.activity, fields.call, fields.attempt], ['trainPolicy', 'engine.gradients', 2]);
    assert.equal(hangs.length, 1);
  });

  it('is detected in every call to its dependencies', async () => {
    const stuck: [string, Partial<Deps>, (given: Deps) => Promise<unknown>][] = [
      [
        'engine.generate',
        { engine: async () => Object.assign(new FakeEngine(), { generate: () => NEVER }) },
        async (given) => (await given.engine('tiny', engineConfig)).generate([], {} as never),
      ],
      ['opening the model m', { engine: () => NEVER }, (given) => given.engine('m', engineConfig)],
      [
        'sandbox.run',
        { sandbox: async () => Object.assign(world.sandbox, { run: () => NEVER }) },
        async (given) => (await given.sandbox(resolveConfig())).run([]),
      ],
      ['opening the sandbox', { sandbox: () => NEVER }, (given) => given.sandbox(resolveConfig())],
      ['loading the problems p', { loadProblems: () => NEVER }, (given) => given.loadProblems('p')],
      [
        'store.getBlob',
        { store: Object.assign(Object.create(world.deps.store), { getBlob: () => NEVER }) },
        (given) => given.store.getBlob('x'),
      ],
      [
        'comparing environments',
        { environment: () => NEVER },
        (given) => given.environment!('engine', {} as never, {} as never),
      ],
      ['rendering the report', { renderReport: () => NEVER }, (given) => given.renderReport!('run')],
      [
        'the rollout server.generate',
        { rolloutServer: () => ({ generate: () => NEVER }) as unknown as RolloutServer },
        (given) => given.rolloutServer!({ timeoutSeconds: 0.01 } as never).generate([], {} as never),
      ],
      ['its own work', {}, () => NEVER],
    ];
    const short = watchWith(40);
    for (const [call, changed, work] of stuck) {
      const given = observed({ ...world.deps, ...changed });
      await assert.rejects(
        run(() => work(given), short),
        { type: 'NO_PROGRESS' },
        call,
      );
      assert.equal((lines.at(-1)![0] as { call: string }).call, call);
    }
  });

  const goesOn = async (work: Work | (() => Promise<unknown>)): Promise<void> => {
    await run(work);
    assert.deepEqual(hangs, []);
  };
  const report = async (advance: () => void): Promise<void> => {
    for (let i = 0; i < 12; i++) {
      await pause(BOUND_MS / 4);
      advance();
    }
  };

  it('is not an activity that reports tokens, rows, verdicts or bytes', async () => {
    world.engine.generate = async (_, { onProgress }) => {
      await report(() => onProgress?.(1));
      return [];
    };
    world.engine.gradients = async (_, { onProgress }) => {
      await report(() => onProgress?.(0));
      return {} as never;
    };
    await goesOn(async () => {
      const engine = await deps.engine('tiny', engineConfig);
      await engine.generate([], {} as never);
      await engine.gradients([], {} as never);
    });
    await goesOn(({ scope }) => report(() => scope.heartbeat({ done: 1 })).then(() => ({})));
    await goesOn(() => report(() => currentProgress()!.advance()));
    await goesOn(async () => {
      for (let i = 0; i < 12; i++) {
        await pause(BOUND_MS / 4);
        await deps.store.putJson(i);
      }
    });
  });

  it('is not an activity whose programs sleep within their limit or whose model is large', async () => {
    const sleeps = Object.assign(world.sandbox, { run: () => pause(4 * BOUND_MS).then(() => []) });
    const given = observed({ ...world.deps, sandbox: async () => sleeps });
    const limits = { ...resolveConfig().limits, wallSeconds: 1 };
    await goesOn(async () => (await given.sandbox(resolveConfig())).run([{ ...PROGRAM, limits }]));
    await goesOn(async () => {
      currentProgress()!.slower(10);
      await pause(4 * BOUND_MS);
    });
  });

  it('may pause three times as long as the longest earlier pause of the worker in that call', async () => {
    const times = [190, 350];
    world.engine.logprobs = async () => {
      await pause(times.shift() ?? 2000);
      return [];
    };
    const score = async () => (await deps.engine('tiny', engineConfig)).logprobs([], {} as never);
    await goesOn(score);
    await goesOn(score); // longer than the limit, but less than three times the first pause
    await assert.rejects(run(score), { type: 'NO_PROGRESS' });
  });

  it('sends no heartbeat afterwards', async () => {
    const environment = new MockActivityEnvironment({ heartbeatTimeoutMs: 400 });
    let beats = 0;
    environment.on('heartbeat', () => beats++);
    const work = environment.run(() => beating(watched(watchWith(1000))(() => NEVER))(attempt()));
    await assert.rejects(work, { type: 'NO_PROGRESS' });
    assert.ok(beats > 0, 'it lives until then');
    const before = beats;
    await pause(500);
    assert.equal(beats, before);
  });
});

describe('GAUNTLET_HANG_SECONDS', () => {
  it('is two minutes by default; 0 means no limit; other text is refused', () => {
    const boundOf = (value?: string) => hangBound({ GAUNTLET_HANG_SECONDS: value });
    assert.deepEqual([undefined, '', ' 30 ', '0.5', '0'].map(boundOf), [120_000, 120_000, 30_000, 500, Infinity]);
    for (const text of ['-1', '2m', 'Infinity', 'NaN'])
      assert.throws(() => boundOf(text), {
        code: 'BAD_CONFIG',
        message: `GAUNTLET_HANG_SECONDS=${text}: must be a number of seconds`,
      });
  });
});

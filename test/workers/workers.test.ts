import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { openAttempt } from '../../activities/attempt.js';
import { beating, inTurn } from '../../activities/layers.js';
import type { Deps, Scope } from '../../chains/scope.js';
import { GauntletError } from '../../core/base/errors.js';
import { resolveConfig } from '../../core/config/presets.js';
import { codeVersion } from '../../infra/codeVersion.mjs';
import { ROOT } from '../../infra/root.mjs';
import { recordMetrics } from '../../method/records.js';
import { updatePolicy } from '../../method/train.js';
import { listProviders } from '../../ml/device/providers.js';
import type { Engine } from '../../ml/engine/engine.js';
import { workflowBundle } from '../../workers/bundle.js';
import { engineOptions, openDeps } from '../../workers/deps/deps.js';
import { createLogger } from '../../workers/logger.js';
import { claiming, ModelTurns, ownQueue } from '../../workers/modelTurns.js';
import { startWorkers } from '../../workers/start.js';
import { temporaryFolder } from '../infra/support.js';
import { writeRandomModel } from '../support/randomModel.js';

describe('the heartbeats of an activity', () => {
  const run = (environment: MockActivityEnvironment, work: (scope: Scope) => Promise<unknown>): Promise<unknown> =>
    environment.run(() => {
      const attempt = openAttempt({} as Deps, recordMetrics as never, {});
      return beating(async ({ scope }) => ({ done: await work(scope) }))(attempt);
    });
  const beat = async (timeout: number | undefined, work: () => Promise<unknown>): Promise<unknown[]> => {
    const environment = new MockActivityEnvironment({ heartbeatTimeoutMs: timeout });
    const details: unknown[] = [];
    environment.on('heartbeat', (detail: unknown) => details.push(detail));
    await run(environment, work);
    return details;
  };
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
  };

  it('sends the latest details on a timer, and again while an activity is silent', async () => {
    const details: unknown[] = [];
    const environment = new MockActivityEnvironment({ heartbeatTimeoutMs: 600 });
    environment.on('heartbeat', (detail: unknown) => details.push(detail));
    await run(environment, async ({ heartbeat }) => {
      heartbeat({ done: 2 });
      heartbeat({ done: 3 });
      await until(() => details.filter((detail) => JSON.stringify(detail) === '{"done":3}').length >= 3);
    });
    assert.deepEqual(details.at(-1), { done: 3 });
    assert.ok(!details.some((detail) => JSON.stringify(detail) === '{"done":2}'), 'only the latest report is sent');
  });

  it('stops when the activity completes or fails', async () => {
    let details: unknown[] = [];
    await assert.rejects(
      beat(300, async () => {
        throw new Error('failed');
      }).then((beats) => {
        details = beats;
      }),
      /failed/,
    );
    const count = details.length;
    await new Promise((resolve) => setTimeout(resolve, 450));
    assert.equal(details.length, count);
  });

  it('sends nothing if the activity has no heartbeat timeout', async () => {
    assert.deepEqual(await beat(undefined, async () => 1), []);
  });
});

describe('createLogger', () => {
  it('writes JSON lines of its level and above, and creates the folder of its file', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'store', 'worker.log');
    const log = createLogger('info', file);
    log.debug('too fine');
    log.info({ roles: ['gpu'] }, 'serving');
    log.error('gone');
    const lines = (await readFile(file, 'utf8')).trim().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)).map(({ name, level, msg, roles }) => [name, level, msg, roles]),
      [
        ['gauntlet', 30, 'serving', ['gpu']],
        ['gauntlet', 50, 'gone', undefined],
      ],
    );
  });

  it('does not throw if the disk is full', function () {
    if (!existsSync('/dev/full')) this.skip();
    const log = createLogger('info', '/dev/full');
    for (let i = 0; i < 20; i++) log.info('x'.repeat(2 ** 20));
  });

  it('refuses an unknown level and names the known ones', () => {
    for (const level of ['trace', 'warn', 'silent']) assert.equal(createLogger(level).level, level);
    assert.throws(() => createLogger('loud'), {
      code: 'BAD_CONFIG',
      message: /^GAUNTLET_LOG=loud: expected one of trace, debug, info, warn, error, fatal, silent$/,
    });
  });
});

describe('an error in the log', () => {
  it('has its message and its cause', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'worker.log');
    const cause = new Error('the socket was closed');
    const error = new GauntletError('BAD_CONFIG', 'a payload was encrypted with another key', { cause });
    createLogger('error', file).error({ error }, 'Failed to process Workflow Activation');
    const line = JSON.parse(await readFile(file, 'utf8')) as { error: { message: string; code: string }; msg: string };
    assert.match(line.error.message, /^a payload was encrypted with another key: the socket was closed$/);
    assert.deepEqual([line.error.code, line.msg], ['BAD_CONFIG', 'Failed to process Workflow Activation']);
  });
});

describe('a worker process', () => {
  it('reports a missing device at its start, if it serves models', async function () {
    if (listProviders().includes('cuda')) this.skip(); // this machine has the device
    const start = (role: 'gpu' | 'cpu') =>
      startWorkers({
        connection: { address: '127.0.0.1:1' },
        namespace: 'n',
        store: '/nowhere',
        device: 'cuda',
        roles: [role],
      });
    await assert.rejects(start('gpu'), { code: 'DEVICE_UNAVAILABLE', message: /^device cuda is not installed/ });
    await assert.rejects(start('cpu'), { code: 'SERVER_UNAVAILABLE' });
  });

  it('throws a coded error if no server answers (startWorkers)', async () => {
    const start = startWorkers({
      connection: { address: '127.0.0.1:1' },
      namespace: 'default',
      store: '/nowhere',
      log: createLogger('silent'),
    });
    await assert.rejects(start, { code: 'SERVER_UNAVAILABLE' });
  });
});

describe('ModelTurns', () => {
  it('runs one activity at a time in order of arrival, even after a failure', async () => {
    const turns = new ModelTurns();
    const seen: string[] = [];
    const work = (name: string, fails = false) =>
      turns.take(async () => {
        seen.push(`${name} begins`);
        await new Promise((resolve) => setTimeout(resolve, 5));
        seen.push(`${name} ends`);
        if (fails) throw new Error(name);
        return name;
      });
    assert.equal(turns.busy, false);
    const all = Promise.allSettled([work('a'), work('b', true), work('c')]);
    assert.equal(turns.busy, true);
    assert.deepEqual(
      (await all).map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.deepEqual(seen, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    assert.equal(turns.busy, false);
  });

  it('does not start a call that was cancelled while it waited, and keeps the order of the others', async () => {
    const turns = new ModelTurns();
    const seen: string[] = [];
    let finish = (): void => undefined;
    const first = turns.take(() => new Promise<void>((resolve) => (finish = resolve)));
    const environment = new MockActivityEnvironment();
    const second = environment.run(() =>
      inTurn(turns)(async () => ({ done: seen.push('cancelled') }))(openAttempt({} as Deps, updatePolicy as never, {})),
    );
    const third = turns.take(async () => seen.push('third'));
    environment.cancel();
    await assert.rejects(second, CancelledFailure); // ends at once
    assert.deepEqual(seen, []);
    finish();
    await Promise.all([first, third]);
    assert.deepEqual(seen, ['third'], 'the third one waited for the first');
    assert.equal(turns.busy, false);
  });

  it('does not start a call that is cancelled at the moment of its turn', async () => {
    const turns = new ModelTurns();
    let began = false;
    const cancelled = AbortSignal.abort(new CancelledFailure('cancelled'));
    await assert.rejects(
      turns.take(async () => {
        began = true;
      }, cancelled),
      CancelledFailure,
    );
    assert.equal(began, false);
  });

  it('gives no turn and answers no claim once it is closed', async () => {
    const turns = new ModelTurns();
    let fail = (_: Error): void => undefined;
    const hangs = turns.take(() => new Promise<void>((_, reject) => (fail = reject)));
    const seen: string[] = [];
    const waits = turns.take(async () => seen.push('waits'));
    turns.close(new Error('hangs'));
    fail(new Error('hangs'));
    for (const call of [hangs, waits, turns.take(async () => seen.push('late'))]) await assert.rejects(call, /hangs/);
    assert.deepEqual(seen, []);
    const { claimModelWorker } = claiming(turns, { queue: 'own' });
    await assert.rejects(new MockActivityEnvironment().run(claimModelWorker), /hangs/);
  });

  it('offers the private queue of the worker, and lets other workers answer first if it is busy', async () => {
    const claim = { queue: ownQueue(), buildId: 'one' };
    assert.match(claim.queue, new RegExp(`^gauntlet-gpu/.+/${process.pid}-`));
    assert.notEqual(ownQueue(), claim.queue);
    const turns = new ModelTurns();
    const ask = (attempt: number) =>
      new MockActivityEnvironment({ attempt }).run(claiming(turns, claim).claimModelWorker);
    assert.deepEqual(await ask(1), claim);
    let finish = (): void => undefined;
    const work = turns.take(() => new Promise<void>((resolve) => (finish = resolve)));
    await assert.rejects(ask(1), { type: 'BUSY', nonRetryable: false });
    await assert.rejects(ask(4), { type: 'BUSY' });
    assert.deepEqual(await ask(5), claim);
    await Promise.resolve(finish());
    await work;
  });
});

describe('the dependencies of a worker', () => {
  it('opens an engine once per model, tries again after a failure, and closes it with the worker', async () => {
    const folder = temporaryFolder();
    const { deps, close } = await openDeps({ store: join(folder, 'store'), threads: 1 });
    const path = join(folder, 'model');
    const asked = resolveConfig().engine;
    await assert.rejects(deps.engine(path, asked), { code: 'BAD_MODEL' });
    await writeRandomModel(path, { hidden: 16, layers: 1 });
    const engine = await deps.engine(path, asked);
    assert.equal(await deps.engine(path, asked), engine);
    assert.equal((await deps.loadProblems('tiny')).train.length, 1315);
    assert.equal(deps.codeVersion, codeVersion(ROOT));
    await close();
  });

  it('keeps two engines open, and closes the least recently used one', async () => {
    const folder = temporaryFolder();
    const { deps, close } = await openDeps({ store: join(folder, 'store'), threads: 1 });
    const config = resolveConfig().engine;
    const open = async (name: string) =>
      deps.engine(await writeRandomModel(join(folder, name), { hidden: 16, layers: 1 }), config);
    const score = (engine: Engine) => engine.logprobs([{ tokens: [20, 21] }], { temperature: 1 });
    const [a, b] = [await open('a'), await open('b')];
    await Promise.all([a, b].map(score));
    assert.equal(await open('a'), a);
    const c = await open('c');
    await assert.rejects(score(b), { code: 'ENGINE_FAULT' });
    assert.equal(await open('a'), a);
    assert.deepEqual(await score(a), await score(await open('b')));
    await assert.rejects(score(c), { code: 'ENGINE_FAULT' });
    await close();
  });

  it('opens a rollout server once, reports it, and prefers the address of the environment', async () => {
    const folder = temporaryFolder();
    const lines: string[] = [];
    const { deps, close } = await openDeps({ store: join(folder, 'store'), say: (line) => lines.push(line) });
    const adapters = join(folder, 'store', 'adapters');
    const config = resolveConfig({ rollouts: { endpoint: 'http://127.0.0.1:8/v1', adapters } }).rollouts!;
    const server = deps.rolloutServer!(config);
    assert.equal(deps.rolloutServer!(config), server);
    assert.match(server.fault('x').message, /^rollout server http:\/\/127.0.0.1:8: x$/);
    process.env.GAUNTLET_ROLLOUTS_ENDPOINT = 'http://127.0.0.1:9';
    try {
      assert.match(deps.rolloutServer!(config).fault('x').message, /127.0.0.1:9: x$/);
    } finally {
      delete process.env.GAUNTLET_ROLLOUTS_ENDPOINT;
    }
    assert.equal(lines.length, 2);
    process.env.GAUNTLET_ROLLOUTS_API_KEY = 'secret';
    try {
      assert.throws(() => deps.rolloutServer!(config), {
        code: 'BAD_CONFIG',
        message: /set GAUNTLET_ROLLOUTS_ENDPOINT/,
      });
    } finally {
      delete process.env.GAUNTLET_ROLLOUTS_API_KEY;
    }
    await close();
  });

  it('takes device and threads from the worker, and all other engine options from the run', () => {
    const asked = resolveConfig({
      engine: {
        device: 'cuda',
        quantization: 'int4',
        checkpointing: false,
        decoderRows: 16,
      },
    }).engine;
    const common = {
      quantization: { bits: 4, groupSize: 32 },
      checkpointing: false,
      activationBytes: 16_000 * 1024 * 1024, // set by the device cuda
      decoderRows: 16,
    };
    assert.deepEqual(engineOptions(asked, {}), { device: 'cuda', ...common });
    const own = engineOptions(asked, { device: 'cpu', threads: 1 });
    assert.deepEqual(own, { device: 'cpu', cores: 1, ...common });
    assert.deepEqual(engineOptions(resolveConfig().engine, {}), { device: 'cpu' }); // rules of the engine decide the other options
    const { quantization } = engineOptions(resolveConfig({ engine: { quantization: 'int8' } }).engine, {});
    assert.deepEqual(quantization, { bits: 8, groupSize: 32 });
  });

  it('bundles the workflow code once', async () => {
    const path = await workflowBundle();
    assert.ok(existsSync(path));
    assert.equal(await workflowBundle(), path);
    assert.match(await readFile(path, 'utf8'), /trainFullPipeline/);
  });
});

// Tests the requests of commands with a fake client. The tests in test/workflows use a real server.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mock } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, QueryNotRegisteredError, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { describeExecution, type Held, heldActivities, heldText, isOpen, unpause } from '../../cli/run/executions.js';
import { hasPollers, interceptorsUntil, statusOf } from '../../cli/run/session.js';
import { stepsDone, storedRun } from '../../cli/run/stored.js';
import { sendUpdate } from '../../cli/run/updates.js';
import { queryProgress } from '../../cli/run/watch.js';
import { onInterrupt } from '../../cli/terminal/interrupt.js';
import { ERROR_CODES } from '../../core/base/errors.js';
import { resolveConfig } from '../../core/config/presets.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import { PLACE } from '../../infra/place.mjs';
import { scriptArguments } from '../../infra/scripts.js';
import { writeInput, writeMetrics } from '../../store/runs.js';
import { sampleStep } from '../support/sample.js';
import { madeRun, RESULT, removeFolders } from './support.js';

type Described = { status: string; pendingActivities?: object[] };

/** A client of a server that has these executions. */
function clientOf(executions: Record<string, Described>, service: object = {}): Client {
  const describe = async (workflowId: string) => {
    const found = executions[workflowId];
    if (found === undefined) throw new WorkflowNotFoundError('no such execution', workflowId, undefined);
    if (found.status === 'lost') throw new Error('the server has gone');
    const { status, pendingActivities } = found;
    return { workflowId, status: { name: status }, raw: { pendingActivities } };
  };
  return {
    options: {
      namespace: 'mine',
      identity: 'me',
      loadedDataConverter: {
        payloadConverter: defaultPayloadConverter,
        failureConverter: defaultFailureConverter,
        payloadCodecs: [],
      },
    },
    workflow: { getHandle: (id: string) => ({ describe: () => describe(id) }) },
    workflowService: service,
  } as unknown as Client;
}

describe('describeExecution, heldActivities and unpause', () => {
  const client = clientOf({
    r: { status: 'RUNNING' },
    p: { status: 'PAUSED' },
    c: { status: 'COMPLETED' },
    lost: { status: 'lost' },
  });

  it('return the status of a run or undefined for an unknown run, and throw if the connection is lost', async () => {
    assert.equal((await describeExecution(client, 'r'))?.workflowId, 'r');
    assert.deepEqual([await statusOf(client, 'r'), await statusOf(client, 'p')], ['RUNNING', 'PAUSED']);
    assert.equal(await describeExecution(client, 'nobody'), undefined);
    assert.equal(await statusOf(client, 'nobody'), undefined);
    await assert.rejects(describeExecution(client, 'lost'), /has gone/);
    await assert.rejects(statusOf(client, 'lost'), /has gone/);
  });

  it('treat a running or paused execution as open', async () => {
    const open = await Promise.all(['r', 'p', 'c'].map(async (id) => isOpen((await describeExecution(client, id))!)));
    assert.deepEqual(open, [true, true, false]);
  });

  it('report a paused run, a paused activity and a retried activity as held', async () => {
    const first = { activityId: '1', activityType: { name: 'generateChains' }, attempt: 1 };
    const failure = { message: 'disk full\nat write', applicationFailureInfo: { type: 'STORE_FAULT' } };
    const pendingActivities = [
      first,
      { ...first, paused: true },
      { ...first, attempt: 4, lastFailure: failure },
      { ...first, attempt: 5, lastFailure: { message: 'odd' } },
      { ...first, activityType: { name: 'claimModelWorker' }, attempt: 3 }, // the activity waits for a free worker
    ];
    const held = clientOf({ r: { status: 'PAUSED', pendingActivities } });
    const activity = { type: 'generateChains', id: '1' };
    assert.deepEqual(await heldActivities(held, (await describeExecution(held, 'r'))!), [
      { paused: true, attempt: 1 },
      { activity, paused: true, attempt: 1, failure: undefined },
      { activity, paused: false, attempt: 4, failure: `STORE_FAULT: disk full: ${ERROR_CODES.STORE_FAULT.help}` },
      { activity, paused: false, attempt: 5, failure: 'odd' },
    ] satisfies Held[]);
  });

  it('describe what holds a run and the command that continues it', () => {
    const activity = { type: 'generateChains', id: '1' };
    const lines = [
      heldText('r', { paused: true, attempt: 1 }),
      heldText('r', { activity, paused: true, attempt: 1 }),
      heldText('r', { activity, paused: false, attempt: 4, failure: 'STORE_FAULT: disk full' }),
      heldText('r', { activity, paused: false, attempt: 2 }),
    ];
    assert.deepEqual(lines, [
      'the run is paused on the server; continue with: npx gauntlet resume r',
      'generateChains is paused on the server; continue with: npx gauntlet resume r',
      'generateChains is being retried (attempt 4): STORE_FAULT: disk full',
      'generateChains is being retried (attempt 2)',
    ]);
  });

  it('unpause a run, report a server that cannot unpause, and throw other errors', async () => {
    const requests: [string, object][] = [];
    let code = 0;
    const service = {
      unpauseActivity: async (request: object) => void requests.push(['activity', request]),
      unpauseWorkflowExecution: async (request: object) => {
        requests.push(['execution', request]);
        if (code !== 0) throw Object.assign(new Error('no'), { code });
      },
    };
    const paused = clientOf({}, service);
    const whole: Held = { paused: true, attempt: 1 };
    const common = { namespace: 'mine', identity: 'me' };
    await unpause(paused, 'r', { ...whole, activity: { type: 'generateChains', id: '7' } });
    await unpause(paused, 'r', whole);
    assert.deepEqual(requests, [
      ['activity', { ...common, id: '7', execution: { workflowId: 'r' }, resetAttempts: true }],
      ['execution', { ...common, workflowId: 'r', reason: 'gauntlet resume' }],
    ]);
    code = 12;
    await assert.rejects(unpause(paused, 'r', whole), {
      code: 'BAD_INPUT',
      message: "'r' is paused, and this server cannot end the pause of a workflow",
    });
    code = 14;
    await assert.rejects(unpause(paused, 'r', whole), { code: 14 });
  });
});

describe('a run that is only stored', () => {
  after(removeFolders);

  it('returns its completed steps, result and recorded input', async () => {
    const { store } = await madeRun();
    for (const step of [2, 3, 1]) await writeMetrics(store, 'made', step, sampleStep(step));
    assert.equal(await stepsDone(store, 'made'), 3, 'an evaluation at step 4 is no update');
    const known = { steps: 3, result: RESULT, input: undefined };
    assert.deepEqual(await storedRun(store, 'made'), known);
    const input = resolveConfig({ seed: 3 });
    await writeInput(store, 'made', input);
    assert.deepEqual(await storedRun(store, 'made'), { ...known, input });
    assert.equal(await storedRun(store, 'nobody'), undefined);
  });
});

describe('hasPollers', () => {
  it('is true only if a poller of the task queue may be alive', async () => {
    const served = async (...pollers: { ago: number; identity: string }[]) => {
      const asked: object[] = [];
      const describeTaskQueue = async (request: object) => {
        asked.push(request);
        const listed = pollers.map(({ ago, identity }) => ({
          identity,
          lastAccessTime: { seconds: Math.floor(Date.now() / 1000) - ago },
        }));
        return { pollers: listed };
      };
      const answer = await hasPollers(clientOf({}, { describeTaskQueue }));
      assert.deepEqual(asked, [{ namespace: 'mine', taskQueue: { name: TASK_QUEUES.orchestrator }, taskQueueType: 1 }]);
      return answer;
    };
    const [dead, old] = [
      { ago: 1, identity: `999999999@${PLACE}` },
      { ago: 3600, identity: '1@elsewhere' },
    ];
    assert.equal(await served(), false);
    assert.equal(await served(dead, old), false);
    assert.equal(await served(dead, { ago: 1, identity: '1@elsewhere' }), true);
  });
});

describe('queryProgress', () => {
  it('returns undefined if no worker answers and throws if the workflow has no progress query', async () => {
    const handle = (query: () => Promise<unknown>) => ({ query }) as unknown as WorkflowHandle;
    assert.deepEqual(await queryProgress(handle(async () => ({ step: 3 }))), { step: 3 });
    const silent = handle(() => Promise.reject(new Error('no poller')));
    assert.equal(await queryProgress(silent), undefined);
    const other = handle(() => Promise.reject(new QueryNotRegisteredError('no query progress', 3)));
    await assert.rejects(queryProgress(other), QueryNotRegisteredError);
  });
});

describe('interceptorsUntil', () => {
  it('passes calls on until there is a status, and ends every later call with it', () => {
    const ended = { code: 14, details: 'it has ended' };
    let closed = false;
    const made: object[] = [];
    const real = { start: () => undefined };
    const [, cancelled, ...none] = interceptorsUntil(() => (closed ? ended : undefined)); // is called after the client's own interceptor, which retries
    assert.deepEqual(none, []);
    const call = (options: object) =>
      cancelled!(
        options as never,
        ((given: object) => {
          made.push(given);
          return real;
        }) as never,
      );
    const options = { deadline: 1 };
    assert.equal(call(options), real);
    closed = true;
    const told: object[] = [];
    const late = call(options);
    late.start({} as never, { onReceiveStatus: (status: object) => told.push(status) } as never);
    late.sendMessage('a message');
    late.halfClose();
    assert.deepEqual(told, [{ ...ended, metadata: {} }]);
    assert.deepEqual(made, [options]);
  });
});

describe('Ctrl-C', () => {
  it('stops the command once, even if it arrives twice at the same time, and removes its listeners on release', () => {
    let stops = 0;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const before = process.listeners(signal);
      const release = onInterrupt(() => stops++);
      const own = process.listeners(signal).filter((listener) => !before.includes(listener));
      assert.equal(own.length, 1, signal);
      own[0]!(signal);
      own[0]!(signal); // `timeout` and npm send the signal twice
      assert.equal(stops, 1);
      release();
      assert.deepEqual(process.listeners(signal), before);
      stops = 0;
    }
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    it(`ends the process at once the second time, even during native code: ${signal}`, async () => {
      const child = spawn(process.execPath, scriptArguments(new URL('./busyProgram.js', import.meta.url)), {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let text = '';
      child.stderr.on('data', (part) => {
        text += part;
      });
      await once(child.stdout, 'data'); // the model has begun to run
      const ended = once(child, 'exit');
      child.kill(signal);
      await sleep(1_200);
      child.kill(signal);
      assert.deepEqual(await ended, [null, 'SIGINT'], text); // a shell reports exit code 130
      assert.equal(text, '');
    });
});

describe('sendUpdate', () => {
  const linesOf = async (work: () => Promise<void>): Promise<string[]> => {
    const lines: string[] = [];
    mock.timers.enable({ apis: ['setTimeout'] });
    mock.method(process.stderr, 'write', (line: string) => lines.push(line) > 0);
    await work().finally(() => {
      mock.reset();
      mock.timers.reset();
    });
    return lines.filter((line) => !line.startsWith('(')); // Node's own warning about mocked timers
  };
  const handle = (answer: Promise<string>) => ({ executeUpdate: () => answer }) as unknown as WorkflowHandle;

  it('warns once if no worker answers, and returns the answer', async () => {
    const lines = await linesOf(async () => {
      let answer: (said: string) => void = () => {};
      const asked = sendUpdate(handle(new Promise((resolve) => (answer = resolve))), { name: 'pause' });
      mock.timers.tick(60_000);
      answer('rests');
      assert.equal(await asked, 'rests');
    });
    assert.deepEqual(
      lines.map((line) => /^no worker has answered for 10 s; .*gauntlet up\)\n$/.test(line)),
      [true],
    );
  });

  it('prints nothing if a worker answers or refuses', async () => {
    const lines = await linesOf(async () => {
      assert.equal(await sendUpdate(handle(Promise.resolve('ends')), { name: 'stop' }), 'ends');
      await assert.rejects(sendUpdate(handle(Promise.reject(new Error('gone'))), { name: 'stop' }), /gone/);
      mock.timers.tick(60_000);
    });
    assert.deepEqual(lines, []);
  });
});

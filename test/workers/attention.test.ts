// A run that waits for a decision, and one that fails, are told at once: in the terminal, by the hook, as a metric, and by
// `status` without a server.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import type { RunProgress } from '../../core/schema/run.js';
import { choosePorts } from '../../infra/ports.js';
import { scriptArguments } from '../../infra/scripts.js';
import { openStore } from '../../store/openStore.js';
import { readAttention } from '../../store/runs.js';
import { inProcess } from '../cli/support.js';
import { TINIEST_RUN } from '../support/doubles.js';
import { needTemporal, startRun, startServer, type TestServer } from '../workflows/server.js';

const LIMIT_MS = 10_000;
const BROKEN = { learningRate: 0.5, schedule: 'constant', warmupSteps: 0 }; // meteredWorkers.ts damages its adapter

describe('a run that needs a person', function () {
  this.timeout(120_000); // the first use builds the bundle
  let host: TestServer;
  let folder = '';
  let lines = '';
  let metrics = '';
  const posted: Record<string, string>[] = [];
  const releases: (() => unknown)[] = [];

  before(async function () {
    needTemporal(this);
    host = await startServer();
    releases.push(() => host.close());
    const receiver = createServer(async (request, response) => {
      posted.push(JSON.parse((await request.toArray()).join('')));
      response.end();
    });
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    releases.push(() => receiver.close());
    metrics = `127.0.0.1:${(await choosePorts(0, 0)).port}`;
    const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const script = scriptArguments(new URL('../support/meteredWorkers.js', import.meta.url));
    const worker = spawn(process.execPath, [...script, host.server.address, host.server.namespace, metrics, hook], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    releases.push(async () => {
      const ended = once(worker, 'exit');
      if (worker.kill()) await ended;
    });
    worker.stdout.on('data', (text) => (lines += text));
    while (!lines.includes('\n')) await sleep(20);
    folder = lines.split('\n')[0]!;
  });
  after(async () => {
    for (const release of releases.reverse()) await release();
  });

  const stateOf = async (run: WorkflowHandle): Promise<string | undefined> =>
    ((await run.query('progress').catch(() => undefined)) as RunProgress | undefined)?.state;
  /** Waits until `read` finds something. */
  async function soon<T>(read: () => T | Promise<T>): Promise<NonNullable<T>> {
    for (const since = Date.now(); ; await sleep(20)) {
      const found = await read();
      if (found) return found;
      assert.ok(Date.now() - since < LIMIT_MS, `not told: ${read}`);
    }
  }
  const gauge = async (run: string): Promise<string | undefined> =>
    new RegExp(`^gauntlet_run_waiting\\{[^}]*run="${run}"[^}]*\\} (\\d)$`, 'm').exec(
      await (await fetch(`http://${metrics}/metrics`)).text(),
    )?.[1];
  const status = async (...argv: string[]): Promise<string> =>
    (await inProcess('status', ...argv, '--store', folder)).out;

  it('is told while it waits, and is no longer told when it goes on', async () => {
    const ppo = { ...TINIEST_RUN.ppo, ...BROKEN };
    const run = await startRun(host.client, 'night', { ...TINIEST_RUN, ppo });
    while ((await stateOf(run)) !== 'waiting') await sleep(20);
    const reason = 'trainPolicy failed: BAD_ADAPTER: the adapter is damaged';
    const command = 'npx gauntlet resume night';
    const text = `run 'night' waits for a decision: ${reason}; try again with: ${command} (--skip skips the step, --abort ends the run)`;
    await soon(() => lines.includes(`${text}\n`));
    assert.deepEqual(await soon(() => posted[0]), { run: 'night', state: 'waiting', reason, command, text });
    assert.equal(await soon(() => gauge('night')), '1');
    await soon(async () => (await status('night')).includes(reason));
    assert.match(
      await status('night'),
      new RegExp(
        `^night: only in the store, waiting \\(steps done: 0\\)\n${reason}\ncontinue with: ${command} --watch `,
      ),
    );
    assert.match(await status(), /night.*only in the store, waiting.*trainPolicy failed: BAD_ADAPTER/);
    const store = await openStore(folder);
    for (let step = 0; step < 3; step++) {
      while ((await stateOf(run)) !== 'waiting') await sleep(20);
      await run.executeUpdate('decide', { args: ['skip'] });
    }
    await run.result();
    await soon(async () => (await readAttention(store, 'night')) === undefined);
    assert.equal(await gauge('night'), '0');
  });

  it('is told when it has failed, even before it was prepared', async () => {
    const run = await startRun(host.client, 'wrong', { ...TINIEST_RUN, seed: -1 });
    await run.result().catch(() => undefined);
    const { reason, ...facts } = await soon(() => posted.find(({ run: id }) => id === 'wrong'));
    assert.match(reason!, /^prepareRun failed: BAD_CONFIG: seed: /);
    const command = 'npx gauntlet train NEW-RUN …';
    const text = `run 'wrong' has failed: ${reason}; start another run with a corrected configuration: ${command}`;
    assert.deepEqual(facts, { run: 'wrong', state: 'failed', command, text });
    await soon(() => lines.includes(`${text}\n`));
    await soon(async () => (await status()).includes('only in the store, failed'));
    assert.equal(
      await status('wrong'),
      `wrong: only in the store, failed (steps done: 0)\n${reason}\nstart another run with a corrected configuration: ${command} --store ${folder}\n`,
    );
    assert.equal((await inProcess('store', 'verify', 'wrong', '--store', folder)).code, 0);
  });
});

// The controls of a run in a browser, against a real server: the dashboard runs as a separate program.
import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { gauntlet } from '../cli/support.js';
import { RUN } from '../workflows/disturbances.js';
import { runFixture } from '../workflows/fixture.js';
import { faultsOf, openBrowser, skipped } from './browser.js';

describe(`the controls of a run in a browser${skipped}`, () => {
  const f = runFixture('dashboard');
  let browser: Browser;
  let page: Page;
  let faults: string[];
  let stop: (() => Promise<unknown>) | undefined;

  before(async function () {
    browser = await openBrowser(this);
  });
  after(() => browser?.close());
  beforeEach(async () => {
    page = await browser.newPage();
    faults = faultsOf(page);
  });
  afterEach(async () => {
    await page?.close();
    await stop?.();
    stop = undefined;
  });

  /** Opens the page of the run. The store must contain the prepared run. */
  async function open(): Promise<void> {
    const { address, namespace } = f.host.server;
    const env = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace };
    const command = ['dashboard', '--store', f.world.folder, '--temporal-ui', 'https://temporal.example/', '--json'];
    const url = await new Promise<string>((resolve, reject) => {
      const ended = gauntlet(command, env, (text, pid) => {
        const line = /^\{"url".*\}$/m.exec(text)?.[0];
        if (line === undefined) return;
        resolve(JSON.parse(line).url);
        stop = () => {
          process.kill(pid, 'SIGTERM');
          return ended;
        };
      });
      void ended.then(({ err }) => reject(new Error(err)));
    });
    await page.goto(`${url}#/runs/${f.id}`);
  }

  const button = (name: string) => page.getByRole('button', { name });
  const says = (text: string | RegExp) => page.getByRole('status').filter({ hasText: text }).waitFor();
  const isState = (state: string) => page.locator('.status .state', { hasText: new RegExp(`^${state}$`) }).waitFor();

  /** Waits until the list of runs shows this state of the run, even with a filter for the state. */
  async function isListed(state: string): Promise<void> {
    await page.getByRole('navigation').getByRole('link', { name: 'Runs' }).click();
    await page.locator('td .state', { hasText: new RegExp(`^${state}$`) }).waitFor();
    await page.getByLabel('Filter').fill(state);
    await page.getByText('1 of 1 runs').waitFor();
    await page.getByRole('link', { name: f.id }).click();
    await isState(state);
  }

  it('pause and resume the run', async () => {
    const hold = f.holdUpdate(2);
    const handle = await f.start();
    await hold.reached;
    await open();
    await isState('running');
    await button('Pause after this step').click();
    await says('pauses after the current step (steps done: 1)');
    await page.getByText('requested: pause (after the current step)').waitFor();
    hold.release();
    await isState('paused');
    assert.equal((await f.until('paused')).step, 2);
    await isListed('paused');

    await button('Resume').click();
    await says('continues after its pause');
    await handle.result();
    await isState('finished');
    await isListed('finished');
    await page.getByRole('link', { name: 'Overview' }).click();
    assert.equal(await page.locator('.schedule .mark-line').count(), 2);
    const link = page.getByRole('link', { name: 'in Temporal' });
    const { namespace } = f.host.server;
    assert.equal(await link.getAttribute('href'), `https://temporal.example/namespaces/${namespace}/workflows/${f.id}`);
    assert.deepEqual(faults, []);
  });

  it('retry a run that waits for a decision, and stop a running one', async () => {
    const { repair } = f.failUpdates(2);
    const handle = await f.start();
    await f.until('waiting');
    await open();
    await isState('waits for a decision');
    await isListed('waits for a decision');
    await page.locator('.controls').getByText('trainPolicy failed: BAD_ADAPTER: the adapter is damaged').waitFor();
    assert.equal(await page.locator('.schedule .mark-line').count(), 1);
    repair();
    const hold = f.holdUpdate(2);
    await button('Try again').click();
    await says('runs trainPolicy again');
    await isState('running');
    await hold.reached;
    page.removeAllListeners('dialog');
    page.once('dialog', (dialog) => dialog.accept());
    await button('Stop after this step').click();
    await says('stops after the current step (steps done: 2)');
    await button('Stop after this step').waitFor({ state: 'detached' });
    const refused = await page.evaluate(`fetch('api/control/${f.id}', {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"action":"pause"}',
    }).then((answer) => answer.json())`);
    const message = 'the run stops after the current step';
    assert.deepEqual(refused, { error: { code: 'BAD_INPUT', message } });
    assert.match(faults.splice(0).join(), /^Failed to load resource.* 400/);
    hold.release();
    assert.equal(((await handle.result()) as { stopped?: string }).stopped, 'stop requested');
    await isState('stopped');
    assert.equal((await f.steps()).length, 3);
    assert.deepEqual(faults, []);
  });

  it('resume a run that was terminated', async () => {
    const hold = f.holdUpdate(2);
    const handle = await f.start({ ...RUN, schedule: { ...RUN.schedule, generatorSteps: 1 } });
    await hold.reached;
    await handle.terminate('tired');
    await open();
    await isState('terminated');
    await isListed('terminated');
    await button('Resume').click();
    await says('was terminated: continues where it ended');
    hold.release();
    await f.completed();
    await isState('finished');
    assert.deepEqual(faults, []);
  });
});

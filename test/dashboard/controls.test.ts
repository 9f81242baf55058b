// The controls of a run in a browser, against a real server: the dashboard runs as a separate program.
import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { gauntlet } from '../cli/support.js';
import { pluck } from '../support/pluck.js';
import { RUN } from '../workflows/disturbances.js';
import { runFixture } from '../workflows/fixture.js';
import { faultsOf, openBrowser, skipped, violationsOf } from './browser.js';

describe(`the controls of a run in a browser${skipped}`, function () {
  this.timeout(240_000);
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

  /** Opens the page of the run. The store exists when the run has been prepared. */
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

  /** The list of runs shows the run in this state, also if it is filtered by it. */
  async function isListed(state: string): Promise<void> {
    await page.getByRole('navigation').getByRole('link', { name: 'Runs' }).click();
    await page.locator('td .state', { hasText: new RegExp(`^${state}$`) }).waitFor();
    await page.getByLabel('Filter').fill(state);
    await page.getByText('1 of 1 runs').waitFor();
    await page.getByRole('link', { name: f.id }).click();
    await isState(state);
  }

  it('pause, change and resume take effect, and a refused change says why', async () => {
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

    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByText('Change settings').click();
    const settings = page.getByRole('textbox', { name: 'Settings, one field=value per line' });
    await settings.fill('seed=3');
    await button('Change from the next step on').click();
    await says('seed: cannot change during a run');
    assert.match(faults.splice(0).join(), /^Failed to load resource.* 400/); // what the browser logs
    await settings.fill('');
    await page.getByLabel('Add a field').selectOption('ppo.learningRate');
    assert.equal(await settings.inputValue(), 'ppo.learningRate=0.0001');
    await settings.fill('ppo.learningRate=0.25');
    await button('Change from the next step on').click();
    await says('takes effect from the next step on');

    await button('Resume').click();
    await says('continues after its pause');
    await handle.result();
    await isState('finished');
    await isListed('finished');
    assert.deepEqual(pluck(await f.steps(), 'learningRate'), [1e-4, 1e-4, 0.25, 0.25]);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('ppo.learningRate=0.25').waitFor(); // in the list of requests
    assert.equal(await page.locator('.schedule .mark-line').count(), 3);
    const link = page.getByRole('link', { name: 'in Temporal' });
    const { namespace } = f.host.server;
    assert.equal(await link.getAttribute('href'), `https://temporal.example/namespaces/${namespace}/workflows/${f.id}`);
    assert.deepEqual(faults, []);
  });

  it('a run that waits for a decision is retried, and a running one stops', async () => {
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

  it('a run that was terminated is resumed, and a fork starts a new run at a checkpoint', async () => {
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
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByText('Fork a new run').click();
    const id = page.getByRole('textbox', { name: 'Id of the new run' });
    assert.deepEqual(await violationsOf(page), []);
    await id.fill('no name');
    await button('Start the new run').click();
    await says(/^run id "no name": use 1–200 of/);
    await id.fill(`${f.id}-again`);
    await page.getByLabel('Start at').selectOption('checkpoint_stage_5_epoch_1');
    await page.getByRole('textbox', { name: /^Settings/ }).fill('ppo.learningRate=0.25');
    await button('Start the new run').click();
    await says(`started run '${f.id}-again' from checkpoint_stage_5_epoch_1`);
    await f.completed(`${f.id}-again`);
    assert.deepEqual(pluck(await f.steps(`${f.id}-again`), 'learningRate'), [0.25]);
    await page.getByRole('link', { name: 'open it' }).click();
    await page.getByRole('heading', { level: 1, name: `${f.id}-again` }).waitFor();
  });
});

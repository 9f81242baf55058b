// The pages in a real browser: untrusted text stays text, charts work by keyboard, and a report works without a server.
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { createActivities } from '../../activities/index.js';
import { openControls } from '../../cli/run/dashboardControls.js';
import { openResources } from '../../dashboard/data/resources.js';
import { renderReport } from '../../dashboard/report.js';
import { type Dashboard, startDashboard } from '../../dashboard/server.js';
import { openStore } from '../../store/openStore.js';
import { createRun, readMetrics, readRun, writeMetrics } from '../../store/runs.js';
import { type Doubles, doubles, problemSet, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { faultsOf, openBrowser, skipped, violationsOf } from './browser.js';

const HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\u202e\u0007';
const MEGABYTES = 'x'.repeat(3_000_000);

const TEXTS = ['program', 'text', 'call', 'expected', 'description', 'signature', 'reference', 'difficulty'];

/** Problems whose texts attack the page. */
function hostileProblems(): ReturnType<typeof problemSet> {
  const { train, ...rest } = problemSet();
  const attack = (problem: (typeof train)[number]) => ({
    ...problem,
    id: `${problem.id} ${HOSTILE}`,
    difficulty: HOSTILE,
    referenceSolution: `${problem.referenceSolution} # ${HOSTILE} ${MEGABYTES}`,
  });
  return { ...rest, train: train.map(attack) };
}

describe(`the pages in a browser${skipped}`, () => {
  let world: Doubles;
  let dashboard: Dashboard;
  let browser: Browser;
  let page: Page;
  let faults: string[];

  before(async function () {
    browser = await openBrowser(this);
    world = await doubles({ loadProblems: async () => hostileProblems() });
    await runPipeline(createActivities(world.deps), 'run', SMALL_RUN);
    await runPipeline(createActivities(world.deps), 'seed', {
      ...SMALL_RUN,
      seed: 1,
      schedule: { ...SMALL_RUN.schedule, stages: [1] },
    });
    const store = await openStore(world.folder);
    const resources = openResources(store);
    const controls = openControls(store, world.folder);
    dashboard = await startDashboard({ resources, controls, host: '127.0.0.1', port: 0 });
    await writeFile(report(), await renderReport(store, 'run', 1e9));
    await writeFile(report('small'), await renderReport(store, 'run', 7_500_000));
  });
  after(async () => {
    await browser?.close();
    await dashboard?.close();
  });
  beforeEach(async () => {
    page = await browser.newPage();
    faults = faultsOf(page);
  });
  afterEach(() => page?.close());

  const report = (name = 'report'): string => join(world.folder, `${name}.html`);
  const urlOf = (name?: string): string => pathToFileURL(report(name)).href;
  const base = (kind: 'server' | 'report'): string => (kind === 'server' ? dashboard.url : urlOf());

  for (const kind of ['server', 'report'] as const) {
    it(`show untrusted text as text, from ${kind}`, async () => {
      await page.goto(`${base(kind)}#/runs/run/steps/2/groups/0`);
      await page.getByText('Reference solution').click();
      await page.getByRole('button', { name: /Show all/ }).click();
      const text = (await page.locator('main').textContent()) ?? '';
      assert.ok(text.includes('<script>window.hacked=1</script>\\u{202e}\\u{7}'), text.slice(0, 500));
      assert.ok(text.includes(MEGABYTES));
      assert.equal(await page.evaluate('window.hacked'), undefined);
      assert.deepEqual(faults, []);
    });

    it(`open the rollouts of a step from a chart by keyboard, from ${kind}`, async () => {
      await page.goto(`${base(kind)}#/runs/run`);
      const chart = page.locator('section.plot[aria-label^="Reward over"]');
      await chart.focus();
      await page.keyboard.press('Home');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Step 2: generator' }).waitFor();
      assert.deepEqual(faults, []);
    });
  }

  it('open the rollouts of a step by a click on a chart, filter them by outcome, and name the page in the title', async () => {
    await page.goto(`${dashboard.url}#/runs/run`);
    const chart = page.locator('section.plot[aria-label^="Reward over"]');
    await chart.scrollIntoViewIfNeeded();
    const { width, height } = (await chart.locator('.u-over').boundingBox())!;
    await chart.locator('.u-over').click({ position: { x: width - 2, y: height / 2 } }); // the last of six steps
    await page.getByRole('heading', { name: /^Step 6: / }).waitFor();
    assert.equal(await page.title(), 'run steps 6 · gauntlet');
    assert.equal(await page.evaluate('document.activeElement.id'), 'main', 'the keyboard goes on in the new page');
    const samples = await page.locator('.groups .sample').count();
    let counted = 0;
    for (const chip of (await page.locator('.chips button').all()).slice(1)) {
      await chip.click();
      const kept = await page.locator('.groups .sample:not(.faint)').count();
      assert.equal(kept, Number.parseInt((await chip.textContent())!, 10));
      counted += kept;
    }
    assert.equal(counted, samples);
    await page.locator('.chips button').first().click();
    assert.equal(await page.locator('.groups .sample:not(.faint)').count(), samples);
    assert.deepEqual(faults, []);
  });

  it('lead from the list of runs to the reason why a program failed in three clicks, and to the next failure', async () => {
    await page.goto(dashboard.url);
    await page.getByRole('link', { name: 'run', exact: true }).click();
    await page.getByRole('link', { name: /^\d+ failed$/ }).click();
    await page.locator('.sample.bad:not(.faint) a').first().click();
    const verdict = page.getByRole('heading', { name: /^The program fails \d+ of \d+ tests$/ });
    await verdict.waitFor();
    await page.locator('.tests .mark.bad', { hasText: '✗ fail' }).first().waitFor();
    await page.getByText(/^Reward of the program/).waitFor();
    const before = page.url();
    await page.getByRole('link', { name: 'next failing program →' }).click();
    await verdict.waitFor();
    assert.notEqual(page.url(), before);
    assert.deepEqual(faults, []);
  });

  it("say on the overview which stage's tests catch most bugs, and how the run is doing", async () => {
    await page.goto(`${dashboard.url}#/runs/run`);
    const stages = page.getByRole('region', { name: 'Tests by stage' });
    await stages.getByRole('row', { name: /^stage 5 [\d.]+ % .*[\d.]+ to [\d.]+ % [\d.]+ % \d+ \d+/ }).waitFor();
    assert.equal(await page.locator('.tiles .figure').count(), 6);
    await page.getByText('No alarm, no warning and no failure so far.').waitFor();
    const [band, plot] = [page.locator('.schedule'), page.locator('.plot .u-over').first()];
    const [axis, area] = [(await band.boundingBox())!, (await plot.boundingBox())!];
    assert.ok(
      Math.abs(axis.x - area.x) < 2 && Math.abs(axis.width - area.width) < 2,
      'the band is the axis of the curves',
    );
    assert.deepEqual(faults, []);
  });

  it('lead from the list of runs to the problems that differ between two runs in two clicks', async () => {
    await page.goto(dashboard.url);
    await page.getByRole('button', { name: 'compare run' }).click();
    await page.getByRole('link', { name: 'compare run with seed' }).click();
    await page.getByRole('heading', { name: /^Problems lost \d+, \d+ beyond the noise$/ }).waitFor();
    await page.getByRole('heading', { name: /^Problems gained \d+, \d+ beyond the noise$/ }).waitFor();
    await page.getByRole('heading', { name: 'Which is better' }).waitFor();
    await page.getByText('First differences').click(); // folded: two seeds differ from the first step on
    await page.getByRole('heading', { name: 'Tokens: step 1, discriminator' }).waitFor();
    const inputs = page.getByRole('region', { name: 'Inputs that differ' }).getByRole('row', { name: /^seed / });
    assert.deepEqual(await inputs.getByRole('cell').allTextContents(), ['3', '1']);
    assert.deepEqual(faults, []);
  });

  it('show what was recorded while they had no connection, and keep the filter', async () => {
    const { store } = world.deps;
    const { runId: _, configDigest: __, seed: ___, ...facts } = await readRun(store, 'run');
    await createRun(store, 'later', facts);
    const steps = (await readMetrics(store, 'run')).filter(({ kind }) => kind === 'step');
    const record = (step: number) => writeMetrics(store, 'later', step, steps[step - 1]!);
    await record(1);
    await record(2);
    const open = async (port: number): Promise<Dashboard> => {
      const files = await openStore(world.folder);
      return startDashboard({
        resources: openResources(files),
        controls: openControls(files, world.folder),
        host: '127.0.0.1',
        port,
      });
    };
    const before = await open(0);
    await page.goto(`${before.url}#/runs/later/metrics`);
    const filter = page.getByLabel('Filter');
    await filter.fill('reward');
    await before.close();
    await record(3); // belongs to a new phase
    const again = await open(Number(new URL(before.url).port));
    try {
      await page.getByText('step 3 of 6').waitFor();
      assert.equal(await filter.inputValue(), 'reward');
    } finally {
      await again.close();
      await rm(join(world.folder, 'runs/later'), { recursive: true });
    }
  });

  it('draw a single step at its place on the axis of the whole schedule', async () => {
    const { store } = world.deps;
    const { runId: _, configDigest: __, seed: ___, ...facts } = await readRun(store, 'run');
    await createRun(store, 'started', facts);
    const first = (await readMetrics(store, 'run')).find(({ kind }) => kind === 'step')!;
    await writeMetrics(store, 'started', 1, first);
    const placeOfFirst = async (run: string): Promise<number> => {
      await page.goto(`${dashboard.url}#/runs/${run}/metrics`);
      const chart = page.locator('section.plot[aria-label^="Reward over"]');
      await chart.scrollIntoViewIfNeeded();
      await chart.locator('canvas').waitFor(); // new data removes the cursor
      await chart.focus();
      await chart.press('Home');
      const [cursor, area] = [chart.locator('.u-cursor-x'), chart.locator('.u-over')];
      return Math.round((await cursor.boundingBox())!.x - (await area.boundingBox())!.x);
    };
    try {
      assert.equal(await placeOfFirst('started'), await placeOfFirst('run'));
    } finally {
      await rm(join(world.folder, 'runs/started'), { recursive: true });
    }
    assert.deepEqual(faults, []);
  });

  it('draw every chart when they are printed, in the space that was kept for it', async () => {
    await page.addInitScript('window.requestIdleCallback = undefined'); // which would draw them at a time of its own
    await page.goto(`${dashboard.url}#/runs/run/metrics`);
    const [all, drawn] = [page.locator('section.plot'), page.locator('section.plot canvas')];
    await all.first().waitFor();
    assert.ok((await drawn.count()) < (await all.count()));
    const heights = () => all.evaluateAll('(all) => all.map((one) => one.offsetHeight)');
    const kept = await heights();
    await page.pdf();
    assert.equal(await drawn.count(), await all.count());
    assert.deepEqual(await heights(), kept);
    assert.deepEqual(faults, []);
  });

  it('show the numbers of a token under the pointer, and colour tokens by each number', async () => {
    await page.goto(`${dashboard.url}#/runs/run/steps/2/groups/0`);
    await page.getByText('Trained sequences, token by token').click();
    const token = page.locator('.tokens .trained').first();
    await token.hover();
    const numbers = page.getByText(/^token \d+, id \d+, log-prob .*entropy .*advantage .*ratio /);
    await numbers.first().waitFor();
    for (const colour of ['log-prob', 'entropy', 'advantage', 'ratio']) {
      await page.getByLabel('Colour').selectOption(colour);
      assert.match((await token.getAttribute('style')) ?? '', /color-mix/);
    }
    assert.deepEqual(faults, []);
  });

  it('sort problems by a column in both orders, and show one problem over time', async () => {
    await page.goto(`${dashboard.url}#/runs/run/problems`);
    const column = page.getByRole('columnheader', { name: 'Problem', exact: true });
    const names = () => page.locator('tbody th').allTextContents();
    const changes = page.locator('tbody td:nth-child(2)');
    await changes.first().waitFor();
    const points = (await changes.allTextContents()).map((text) =>
      Number.parseFloat(text.replace(/^\D*?(−?)(\d)/, '$1$2').replace('−', '-')),
    );
    const known = points.filter((value) => !Number.isNaN(value));
    assert.deepEqual(
      known,
      known.toSorted((a, b) => a - b),
      'the problems that got worse come first',
    );
    await column.getByRole('button').click();
    const ascending = await names();
    assert.deepEqual(ascending, ascending.toSorted());
    assert.equal(await column.getAttribute('aria-sort'), 'ascending');
    await column.getByRole('button').click();
    assert.deepEqual(await names(), ascending.toReversed());
    assert.equal(await column.getAttribute('aria-sort'), 'descending');
    await page.locator('tbody th a').first().click();
    await page.getByRole('heading', { name: /^add-\d+ <img/ }).waitFor();
    await page.getByRole('region', { name: 'Groups of the problem' }).waitFor();
    assert.deepEqual(await violationsOf(page), []);
    assert.deepEqual(faults, []);
  });

  it('show programs, stages, answers, tests and tokens of a model as text', async () => {
    const store = openResources(await openStore(world.folder));
    /** Makes every text of a group an attack, except the keys that the page looks up. */
    const attacked = (value: unknown, long: string, key = ''): unknown => {
      if (Array.isArray(value)) return value.map((each) => attacked(each, long, key));
      if (typeof value === 'string') return TEXTS.includes(key) ? `${value}${HOSTILE}${'\u001b[2J'}${long}` : value;
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, attacked(each, long, name)]));
    };
    const read = async (path: string): Promise<unknown> => {
      const found = await store.read(path);
      if (path === 'runs/run') return attacked(found, '');
      return /groups\/\d+$/.test(path) ? attacked(found, MEGABYTES) : found;
    };
    const controls = openControls(await openStore(world.folder), world.folder);
    const hostile = await startDashboard({ resources: { ...store, read }, controls, host: '127.0.0.1', port: 0 });
    try {
      for (const step of [2, 4]) {
        await page.goto(`${hostile.url}#/runs/run/steps/${step}/groups/0`);
        await page.getByRole('list', { name: 'Stages of the chain' }).waitFor();
        for (const details of await page.locator('main details summary').all()) await details.click();
        const text = (await page.locator('main').textContent()) ?? '';
        assert.ok(text.split('<script>window.hacked=1</script>\\u{202e}\\u{7}\\u{1b}[2J').length > 10);
        assert.equal(await page.locator('main img, main script').count(), 0);
        assert.equal(await page.evaluate('window.hacked'), undefined);
        assert.equal(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth'), 0);
      }
      await page.goto(`${hostile.url}#/runs/run`); // the report with an example
      await page.getByRole('list', { name: 'Stages of the chain' }).waitFor();
      const text = (await page.locator('main').textContent()) ?? '';
      assert.ok(text.split('<script>window.hacked=1</script>\\u{202e}\\u{7}\\u{1b}[2J').length > 10);
      assert.equal(await page.locator('main img, main script').count(), 0);
      assert.equal(await page.evaluate('window.hacked'), undefined);
      assert.deepEqual(faults, []);
    } finally {
      await hostile.close();
    }
  });

  const PATHS = [
    'runs',
    'runs/run',
    'runs/run/steps/2',
    'runs/run/steps/2/groups/0',
    'runs/run/steps/4',
    'runs/run/steps/4/groups/0',
    'runs/run/problems',
    'runs/run/problems?id=add-1',
    'runs/run/metrics',
    'runs/run/settings',
    'diff/run/seed',
  ];
  async function open(path: string): Promise<void> {
    await page.goto(`${dashboard.url}#/${path}`);
    await page.locator('main .scroll, main .charts, main .groups').first().waitFor();
    await page.locator('main [aria-live]', { hasText: 'Loading' }).waitFor({ state: 'detached' });
    await page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true");
    if (path.endsWith('groups/0')) await page.locator('.tokens').first().waitFor();
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`meet WCAG 2.1 AA as far as axe-core can check it, ${colorScheme}`, async () => {
      await page.emulateMedia({ colorScheme });
      for (const path of PATHS) {
        await open(path);
        assert.deepEqual(await violationsOf(page), [], path);
      }
    });
  }

  it('say why a run cannot be controlled', async () => {
    await page.goto(`${dashboard.url}#/runs/run`);
    await page.getByText('No controls: no Temporal server runs for this store').waitFor();
    assert.equal(await page.getByRole('region', { name: 'Controls' }).count(), 0);
    await page.goto(base('report'));
    await page.getByRole('heading', { name: 'Schedule and curves' }).waitFor();
    assert.equal(await page.getByText('No controls').count(), 0);
    assert.deepEqual(faults, []);
  });

  it('form one file in a report, which needs no network and says what it leaves out', async () => {
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(urlOf('small'));
    await page.getByText('has the rollouts of 1 of 6 steps: the newest, up to 7.5 MB').waitFor();
    await page.getByRole('heading', { name: 'One chain of reasoning' }).waitFor();
    await page.getByRole('region', { name: 'Tests by stage' }).waitFor();
    await page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true");
    assert.deepEqual(await violationsOf(page), []);
    assert.equal(await page.getByRole('link', { name: 'Problems' }).count(), 0);
    await page.getByRole('link', { name: 'Rollouts' }).click();
    await page.getByText('4 of 4 groups; the report leaves out the texts of 2').waitFor();
    assert.equal(await page.locator('.groups p a').count(), 2);
    await page.locator('.groups p a').first().click();
    await page.getByRole('region', { name: 'Tests of the programs' }).waitFor();
    assert.equal(await page.getByText('Trained sequences, token by token').count(), 0);
    await page.goto(`${urlOf('small')}#/runs/run/steps/1`);
    await page.getByText('This report leaves it out').waitFor();
    assert.deepEqual([...new Set(requests)], [urlOf('small')]);
    assert.deepEqual(faults, []);
  });

  it('fit on a phone, and contact no other server', async () => {
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.setViewportSize({ width: 390, height: 844 });
    for (const path of PATHS) {
      await open(path);
      const wider = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
      assert.equal(wider, 0, `${path} is ${wider} pixels too wide`);
    }
    assert.ok(requests.length > PATHS.length);
    assert.deepEqual(
      requests.filter((url) => !url.startsWith(dashboard.url) && !url.startsWith('data:')),
      [],
    );
    assert.deepEqual(faults, []);
  });

  it('say that the state of an unfinished run is unknown without a server', async () => {
    const { store } = world.deps;
    const { runId: _, configDigest: __, seed: ___, ...facts } = await readRun(store, 'run');
    await createRun(store, 'other', facts);
    await page.goto(`${dashboard.url}#/runs`);
    await page.getByText('Unknown states: no Temporal server runs for this store').waitFor();
    const states = await page.locator('td .state').allTextContents();
    assert.deepEqual(states.sort(), ['finished', 'finished', 'unknown']);
    await page.getByLabel('Filter').fill('unknown');
    await page.getByText('1 of 3 runs').waitFor();
    assert.deepEqual(faults, []);
  });
});

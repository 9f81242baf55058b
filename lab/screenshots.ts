// `npm run screenshots -- STORE [FOLDER]`: takes the pictures of the dashboard from the run with the latest record. The run
// must have rollouts.
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { RunList, RunView, StepView, TokensView } from '../dashboard/api.js';
import { openResources, type Resources } from '../dashboard/data/resources.js';
import { startDashboard } from '../dashboard/server.js';
import { ROOT } from '../infra/root.mjs';
import { openStore, storeExists } from '../store/openStore.js';
import { openChromium } from './chromium.js';

const MAX_BYTES = 200_000;
const DESKTOP = { width: 1200, height: 960 };
const WIDE = { width: 1200, height: 640 };
const PHONE = { width: 390, height: 844 };

interface Choice {
  run: string;
  sample: string; // a failing program in the group with the most different rewards
  tokens: { group: string; sample: number }; // the sequence with the most clipped tokens
}

/** Chooses places in the first generator steps of the run with the latest record. */
async function choose(resources: Resources): Promise<Choice> {
  const { runs } = (await resources.read('runs')) as RunList;
  const run = runs.find(({ state, step }) => state !== 'damaged' && step > 0)?.id;
  if (run === undefined) throw new Error('the store has no run with steps: train one first');
  const { steps } = (await resources.read(`runs/${run}`)) as RunView;
  let [spread, most] = [-1, -1];
  const choice: Choice = { run, sample: '', tokens: { group: '', sample: 0 } };
  for (const { step } of steps.filter(({ role }) => role === 'generator').slice(0, 4)) {
    const { groups } = (await resources.read(`runs/${run}/steps/${step}`)) as StepView;
    for (const { index, samples } of groups) {
      const group = `runs/${run}/steps/${step}/groups/${index}`;
      const rewards = new Set(samples.map(({ reward }) => reward));
      const failed = samples.find(({ outcome }) => outcome === 'failed');
      if (failed && rewards.size > spread) [spread, choice.sample] = [rewards.size, `${group}?sample=${failed.sample}`];
      const tokens = (await resources.read(`${group}/tokens`)) as TokensView;
      for (const [sample, { rows }] of tokens.samples.entries()) {
        const clipped = rows.flatMap((row) => row.clipped ?? []).filter((bit) => bit === 1).length;
        if (clipped > most) [most, choice.tokens] = [clipped, { group, sample }];
      }
    }
  }
  return choice;
}

async function showRatios(page: Page, sample: number): Promise<void> {
  await page.getByText('Trained sequences, token by token').click();
  await page
    .locator('label', { hasText: /^Sample/ })
    .locator('select')
    .selectOption(`${sample}`);
  const colours = await page.getByLabel('Colour').locator('option').allTextContents();
  await page.getByLabel('Colour').selectOption(colours.at(-1)!); // the last option is the ratio, if it was recorded
  await page.locator('summary', { hasText: 'Trained sequences' }).evaluate((summary) => summary.scrollIntoView());
}

async function main([place, folder = join(ROOT, 'docs/images')]: string[]): Promise<void> {
  if (place === undefined) throw new Error('usage: npm run screenshots -- STORE [FOLDER]');
  if (!(await storeExists(place))) throw new Error(`there is no store at ${place}`);
  const resources = openResources(await openStore(place));
  const { run, sample, tokens } = await choose(resources);
  const controls = {
    states: async () => ({ states: {} }),
    live: async () => ({ notes: [], actions: [] }), // the answer for a run that has ended
    request: async () => ({ said: '' }),
  };
  const dashboard = await startDashboard({ resources, controls, host: '127.0.0.1', port: 0 });
  const browser = await openChromium();
  const pictures = [
    { name: 'dashboard', path: `runs/${run}` },
    {
      name: 'dashboard-group',
      path: sample,
      act: (page: Page) =>
        page
          .locator('.card')
          .first()
          .evaluate((card) => card.scrollIntoView()),
    },
    {
      name: 'dashboard-tokens',
      path: tokens.group,
      act: (page: Page) => showRatios(page, tokens.sample),
      viewport: WIDE,
    },
    { name: 'dashboard-phone', path: `runs/${run}`, viewport: PHONE, dark: true },
  ];
  try {
    await mkdir(folder, { recursive: true });
    for (const { name, path, dark, act, viewport = DESKTOP } of pictures) {
      const page = await browser.newPage({ viewport, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' });
      await page.goto(`${dashboard.url}#/${path}`);
      await page.locator('main .chain, main .card').first().waitFor();
      await page.waitForLoadState('networkidle');
      await act?.(page);
      const file = join(folder, `${name}.png`);
      await page.screenshot({ path: file });
      await page.close();
      const { size } = await stat(file);
      console.log(`${file}  ${Math.round(size / 1000)} kB`);
      if (size > MAX_BYTES) throw new Error(`${file} has more than ${MAX_BYTES / 1000} kB`);
    }
  } finally {
    await browser.close();
    await dashboard.close();
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(`screenshots: ${(error as Error).message}`);
  process.exitCode = 1;
}

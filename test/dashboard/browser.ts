// A headless browser for tests of the pages. Tests are skipped if there is none.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { chromiumPath, NO_CHROMIUM, openChromium } from '../../lab/chromium.js';

/** A note for the title of a suite. */
export const skipped = chromiumPath === undefined ? ` (skipped: ${NO_CHROMIUM})` : '';

export const openBrowser = (context: Mocha.Context): Promise<Browser> =>
  chromiumPath === undefined ? context.skip() : openChromium();

/** Collects the faults of a page: exceptions, console errors and dialogs. */
export function faultsOf(page: Page): string[] {
  const faults: string[] = [];
  page.on('pageerror', ({ message }) => faults.push(message));
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('dialog', (dialog) => faults.push(`dialog ${dialog.message()}`));
  return faults;
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Violations of WCAG 2.1 AA that axe-core finds, with one line for each. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] })",
  )) as { violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] };
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}

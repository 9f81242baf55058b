// The Chromium of this machine: for tests of the pages, screenshots, and the overhead of an open page.
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const places = [process.env.CHROMIUM ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Undefined if there is none. */
export const chromiumPath = places.find((path) => path !== '' && existsSync(path));

export const NO_CHROMIUM = 'no Chromium; name one in CHROMIUM';

/** @throws if there is none */
export async function openChromium(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error(NO_CHROMIUM);
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
}

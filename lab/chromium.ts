// Finds the Chromium of this machine for tests of the pages, for screenshots, and to measure the cost of an open page.
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const { CHROMIUM } = process.env;
const usual = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`);
const places = CHROMIUM === undefined ? usual : [CHROMIUM];

/** The path of Chromium; undefined if it is not installed. */
export const chromiumPath = places.find((path) => existsSync(path));

export const NO_CHROMIUM = 'no Chromium; name one in CHROMIUM';

/** @throws if Chromium is not installed */
export async function openChromium(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error(NO_CHROMIUM);
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
}

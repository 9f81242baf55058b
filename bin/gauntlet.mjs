#!/usr/bin/env node
// The `gauntlet` command inside a checkout: runs the built program, and says what to do where there is none.
import { existsSync } from 'node:fs';

const main = new URL('../dist/cli/main.js', import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write('gauntlet is not built yet: run `node infra/setup.mjs` in the checkout first\n');
  process.exitCode = 1;
}

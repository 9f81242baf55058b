#!/usr/bin/env node
// The `gauntlet` command inside a checkout: runs the built program, and says what to do where there is none.
import { existsSync } from 'node:fs';

const LINGER_MS = 3000; // whatever is still open then holds nothing that matters

const built = new URL('../dist/cli/main.js', import.meta.url);
if (existsSync(built)) {
  const { main } = await import(built.href);
  process.exitCode = await main(process.argv.slice(2));
  setTimeout(() => process.exit(), LINGER_MS).unref();
} else {
  process.stderr.write('gauntlet is not built yet: run `node infra/setup.mjs` in the checkout first\n');
  process.exitCode = 1;
}

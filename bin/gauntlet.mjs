#!/usr/bin/env node
// The `gauntlet` command: runs the built program. A checkout without a build is told how to make one.
import { existsSync } from 'node:fs';
import { delimiter, isAbsolute } from 'node:path';

const LINGER_MS = 3000; // then the process ends, whatever handles are still open

// `gauntlet … | head`: nobody reads what follows, so it is dropped and the command goes on
process.stderr.on('error', () => {});
process.stdout.on('error', ({ code }) => {
  if (code === 'EPIPE') return;
  process.stderr.write(`error: standard output cannot be written (${code}) [STORE_FAULT]\n`);
  process.exit(3);
});

// other programs come from no folder that is relative to the current one, which may be somebody else's
const folders = process.env.PATH?.split(delimiter).filter(isAbsolute);
if (folders?.length > 0) process.env.PATH = folders.join(delimiter);
else delete process.env.PATH;

const built = new URL('../dist/cli/main.js', import.meta.url);
if (existsSync(built)) {
  const { main } = await import(built.href).catch(({ code, message }) => {
    const why = /EMFILE|ERR_MODULE_NOT_FOUND/.test(`${code} ${message}`)
      ? ': does `ulimit -n` allow 256 open files?'
      : '';
    process.stderr.write(`error: the program cannot be loaded (${code ?? message})${why}\n`);
    process.exit(1);
  });
  process.exitCode = await main(process.argv.slice(2));
  setTimeout(() => process.exit(), LINGER_MS).unref();
} else {
  process.stderr.write('gauntlet is not built yet: run `node tools/setup.mjs` in the checkout first\n');
  process.exitCode = 1;
}

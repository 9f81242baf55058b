#!/usr/bin/env node
// The `gauntlet` command: runs the built program. A checkout without a build is told how to make one.
import { existsSync } from 'node:fs';
import { delimiter, isAbsolute } from 'node:path';

const LINGER_MS = 3000; // how long open handles keep the process alive after the command

// after `gauntlet … | head` nobody reads the rest of the output, so it is dropped and the command goes on
process.stderr.on('error', () => {});
process.stdout.on('error', ({ code }) => {
  if (code === 'EPIPE') return;
  process.stderr.write(`error: standard output cannot be written (${code}) [STORE_FAULT]\n`);
  process.exit(3);
});

// the current folder may belong to somebody else, so other programs are not looked for in relative folders of PATH
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

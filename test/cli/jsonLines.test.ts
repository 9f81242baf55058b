// Rows of JSON lines: files and pipes are read twice, and a bad row is refused with its line before any work.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { openRows } from '../../cli/input/jsonLines.js';
import { removeFolders, temporaryFolder } from './support.js';

describe('a file of JSON lines', () => {
  let folder: string;
  const at = (name: string): string => join(folder, name);
  const open = (path: string) => openRows(path, (value) => value);
  before(async () => {
    folder = await temporaryFolder();
  });
  after(removeFolders);

  it('is read in order, as often as needed, without blank lines', async () => {
    await writeFile(at('rows'), '0\n{"a":[1.5]}\n\n2\n');
    const rows = await open(at('rows'));
    assert.equal(rows.count, 3);
    for (const _ of [1, 2]) assert.deepEqual(await Readable.from(rows.read()).toArray(), [0, { a: [1.5] }, 2]);
    await rows.close();
    assert.ok(existsSync(at('rows')), 'a file of the user is left');
  });

  it('is copied to a temporary file if it comes from a pipe', async () => {
    const child = spawn('sh', ['-c', `mkfifo '${at('pipe')}' && echo 1 > '${at('pipe')}'`]);
    while (!existsSync(at('pipe'))) await new Promise((settle) => setTimeout(settle, 5));
    const rows = await open(at('pipe'));
    for (const _ of [1, 2]) assert.deepEqual(await Readable.from(rows.read()).toArray(), [1]);
    await rows.close();
    child.kill();
  });

  it('may come from standard input; a bad row makes the program print one line and exit with code 2', async () => {
    const child = spawn(process.execPath, ['bin/gauntlet.mjs', 'sandbox', 'run', '--input', '-']);
    child.stdin.end('\n{"id":"a","entry":"f","tests":[[[1],1]]}\n');
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    assert.deepEqual([code, out], [2, '']);
    assert.match(err, /^error: standard input: line 2: code: is missing.* \[BAD_INPUT\]\n$/);
  }).timeout(30_000);

  for (const [what, content, message] of [
    ['an empty file', '', /rows: has no rows$/],
    ['a file of blank lines', '\n \n', /rows: has no rows$/],
    ['a line that is not JSON', '{"a":[1]}\n\n{"a":[1\n', /rows: line 3: not JSON: /],
    ['NaN', '1\n{"a":{"b":[1,NaN]}}', /rows: line 2: a\.b\[1\] is NaN, a finite number is needed$/],
    ['an infinite number', '{"a":-Infinity}', /rows: line 1: a is -Infinity, a finite number is needed$/],
    ['a Parquet file', 'PAR1....PAR1', /rows: is a Parquet file/],
  ] as const)
    it(`is refused if it has ${what}`, async () => {
      await writeFile(at('rows'), content);
      await assert.rejects(open(at('rows')), { code: 'BAD_INPUT', message });
    });

  it('is refused if its path does not exist or is a folder', async () => {
    await assert.rejects(open(at('none')), { code: 'BAD_INPUT', message: /none: cannot be read \(ENOENT\)$/ });
    await assert.rejects(open(folder), { code: 'BAD_INPUT', message: /is a folder, a file of JSON lines is needed$/ });
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkTarget, freshPath, writeFolder } from '../../cli/export/folder.js';
import { temporaryFolder } from '../infra/support.js';

describe('a folder that a command writes', () => {
  let folder: string;
  before(async () => {
    folder = temporaryFolder();
  });

  it('may be missing or empty, or with --overwrite an earlier model folder', async () => {
    const target = { marker: 'config.json', kind: 'model folder', replace: false };
    checkTarget(join(folder, 'not', 'yet', 'there'), target);
    await mkdir(join(folder, 'empty'));
    checkTarget(join(folder, 'empty'), target);
    await writeFolder(join(folder, 'model'), new Map([['config.json', '{}']]));
    assert.throws(() => checkTarget(join(folder, 'model'), target), /it exists; .* --overwrite/);
    checkTarget(join(folder, 'model'), { ...target, replace: true });
    assert.throws(() => checkTarget(join(folder, 'model', 'config.json'), target), /it is a file/);
  });

  it('is replaced atomically, and unchanged if writing fails', async () => {
    const target = join(folder, 'swap');
    await writeFolder(
      target,
      new Map([
        ['config.json', '{}'],
        ['old.txt', 'x'],
      ]),
    );
    await writeFolder(target, new Map([['config.json', '{"a":1}']]));
    assert.deepEqual(await readdir(target), ['config.json']);
    const impossible = new Map([
      ['inner', 'a file'],
      ['inner/file.txt', 'x'],
    ]);
    await assert.rejects(writeFolder(target, impossible), { code: 'EEXIST' });
    assert.equal(await readFile(join(target, 'config.json'), 'utf8'), '{"a":1}');
    assert.ok(!existsSync(`${target}.new-${process.pid}`) && !existsSync(`${target}.old-${process.pid}`));
  });

  it('is freed of files that a killed process left an hour ago', async () => {
    const target = join(folder, 'out.jsonl');
    const gone = spawnSync(process.execPath, ['-e', '']).pid;
    const names = [`${target}.new-${gone}`, `${target}.new-${gone}0000000`, `${target}.new-${process.ppid}`];
    for (const name of names) await writeFile(name, 'x');
    for (const name of [names[0]!, names[2]!]) await utimes(name, 1, 1);
    assert.equal(await freshPath(target), `${target}.new-${process.pid}`);
    assert.deepEqual(names.map(existsSync), [false, true, true]);
  });
});

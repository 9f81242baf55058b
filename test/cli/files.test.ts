// Unusual files, pipes and ports of users: encodings, empty files, names, and failures of the system.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { needTemporal } from '../workflows/server.js';
import { gauntlet, inProcess, removeFolders, temporaryFolder } from './support.js';

const ROW = {
  id: 'ü1',
  description: 'Return x + é.',
  function_signature: 'def solve(x):',
  baseline_tests: [[1, 1]],
  reference_solution: 'def solve(x):\n    return x',
};
const LINE = `${JSON.stringify(ROW)}\r\n`;

/** Runs the program in bash, with its pipes. */
async function inShell(script: string): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn('bash', ['-c', script], { env: { ...process.env, NO_COLOR: '1', G: 'node bin/gauntlet.mjs' } });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code: code as number | null, out, err };
}

describe('files of a user', () => {
  let folder: string;
  const write = async (name: string, content: string | Buffer): Promise<string> => {
    await writeFile(join(folder, name), content);
    return join(folder, name);
  };
  const refused = async (argv: string[], message: RegExp, code = 2): Promise<void> => {
    const ended = await inProcess(...argv);
    assert.match(ended.err.trim().split('\n').at(-1)!, message);
    assert.equal(ended.code, code, ended.err);
  };
  before(async () => {
    folder = await temporaryFolder();
  });
  after(removeFolders);

  it('may have any encoding with a byte order mark, line ends of Windows, and names outside ASCII', async () => {
    const encoded = {
      'bom.jsonl': Buffer.from(`\ufeff${LINE}`),
      'powershell.jsonl': Buffer.from(`\ufeff${LINE}`, 'utf16le'),
      'pröb #1 %😀.jsonl': Buffer.from(LINE),
      'packed.jsonl.gz': gzipSync(Buffer.from(`\ufeff${LINE}`, 'utf16le')),
    };
    for (const [name, content] of Object.entries(encoded)) {
      const out = join(folder, `äus ${name}.out.jsonl`);
      const { code, err } = await inProcess(
        'problems',
        'import',
        await write(name, content),
        '--out',
        out,
        '--sandbox',
        'wasm',
      );
      assert.equal(code, 0, err);
      const written = JSON.parse(await readFile(out, 'utf8'));
      assert.deepEqual([written.id, written.description], [ROW.id, ROW.description], name);
    }
    const config = await write('config.json', Buffer.from('\ufeff{"preset": "nonesuch"}\r\n', 'utf16le'));
    await refused(['train', 'x', '--config', config, '--store', join(folder, 's')], /preset.*\[BAD_CONFIG\]$/);
  });

  it('are refused with the line if they are not text', async () => {
    const latin = await write('latin.jsonl', Buffer.concat([Buffer.from(LINE), Buffer.from(LINE, 'latin1')]));
    await refused(['problems', 'check', latin], /latin\.jsonl: line 2 is not UTF-8: .*\[BAD_INPUT\]$/);
    await refused(['train', 'x', '--config', latin], /latin\.jsonl: line 2 is not UTF-8: .*\[BAD_INPUT\]$/);
    await refused(['sandbox', 'run', '--input', latin], /latin\.jsonl: line 2 is not UTF-8: .*\[BAD_INPUT\]$/);
    await refused(['solve', latin, '--model', 'tiny'], /latin\.jsonl: line 2 is not UTF-8: .*\[BAD_INPUT\]$/);
    const table = await write('table.jsonl', Buffer.from('PAR1....PAR1'));
    await refused(['problems', 'check', table], /table\.jsonl: has a footer of more than \d+ bytes \[BAD_INPUT\]$/);
  });

  it('are refused if they are empty', async () => {
    const empty = {
      'a.json': '[]',
      'b.json': '{"problems": []}',
      'c.jsonl': '',
      'd.jsonl': ' \r\n\n',
      'e.json': '\ufeff',
    };
    for (const [name, content] of Object.entries(empty)) {
      const path = await write(name, content);
      await refused(['problems', 'check', path], /is empty.*\[BAD_INPUT\]$/);
      await refused(['solve', path, '--model', 'tiny'], /is empty.*\[BAD_INPUT\]$/);
      await refused(['train', 'x', '--problems', path, '--store', join(folder, 's')], /is empty.*\[BAD_INPUT\]$/);
    }
    await refused(['problems', 'check', await write('f.json.gz', gzipSync('[]'))], /is empty.*\[BAD_INPUT\]$/);
    await refused(['train', 'x', '--config', await write('g.json', '\n')], /g\.json: is empty \[BAD_INPUT\]$/);
  });

  it('may be pipes, which are read once', async () => {
    const path = await write('piped.jsonl', LINE);
    for (const script of [
      `$G problems check - --sandbox wasm < '${path}'`,
      `cat '${path}' | $G problems check /dev/stdin --sandbox wasm`,
      `$G problems check <(gzip -c '${path}') --sandbox wasm`,
    ]) {
      const { code, out, err } = await inShell(script);
      assert.equal(code, 0, err);
      assert.match(out, /^1 of 1 problem healthy/);
    }
    const { code, err } = await inShell(`$G train x --problems <(cat '${path}') --store '${folder}/s'`);
    assert.deepEqual(
      [code, err.trim().split('\n').at(-1)!.includes('write them to a file instead of a pipe')],
      [2, true],
      err,
    );
  });

  it('may be read by a program that ends early', async () => {
    for (const script of [
      '$G --help | head -1',
      '$G problems check /nowhere 2>&1 | true',
      '$G config schema | head -c 10',
    ]) {
      const { err } = await inShell(`set -o pipefail; ${script}`);
      assert.equal(err, '');
    }
    const { code, err } = await inShell('$G --help > /dev/full');
    assert.equal(code, 3);
    assert.match(err, /^error: standard output cannot be written \(ENOSPC\) \[STORE_FAULT\]\n$/);
  });

  it('fail with an error code if the system denies access', async () => {
    const file = await write('file', '');
    const long = join(folder, 'x'.repeat(300));
    const loop = join(folder, 'loop');
    await symlink('loop', loop);
    await refused(['train', 'q', '--store', file], /--store .*file: is a file, a folder is needed \[BAD_INPUT\]$/);
    for (const [store, reason] of [
      [join(file, 'x'), 'ENOTDIR'],
      [long, 'ENAMETOOLONG'],
      [loop, 'ELOOP'],
    ] as const)
      await refused(
        ['train', 'q', '--store', store],
        new RegExp(`the store cannot be used: .*\\(${reason}\\) \\[STORE_FAULT\\]$`),
        3,
      );
    const path = await write('good.jsonl', LINE);
    const importing = (out: string) => ['problems', 'import', path, '--out', out, '--sandbox', 'wasm'];
    await refused(importing(join(file, 'x.jsonl')), /\(ENOTDIR\) \[BAD_INPUT\]$/);
    await refused(importing(long), /\(ENAMETOOLONG\) \[BAD_INPUT\]$/);
    await refused(importing('/dev/full'), /is not a file; name another one \[BAD_INPUT\]$/);
    await mkdir(join(folder, 'folder'));
    await refused(['train', 'x', '--config', join(folder, 'folder')], /\(EISDIR\) \[BAD_INPUT\]$/);
    await refused(['problems', 'check', loop], /\[BAD_INPUT\]$/);
  });

  it('fail with an error code if a port cannot be used', async function () {
    needTemporal(this); // the dashboard would otherwise install a handler
    const other = createServer();
    await new Promise<void>((settle) => other.listen(0, '127.0.0.1', settle));
    const { port } = other.address() as AddressInfo;
    try {
      const store = join(folder, 'a store');
      await mkdir(join(store, 'runs'), { recursive: true });
      await refused(['dashboard', '--store', store, '--port', String(port)], /\[PORT_TAKEN\]$/, 3);
      const served = await gauntlet(['serve', '--model', 'tiny', '--sandbox', 'wasm', '--port', String(port)]);
      assert.deepEqual([served.code, /\[PORT_TAKEN\]$/.test(served.err.trim())], [3, true], served.err);
      for (const wrong of ['70000', '-1', 'x', '1.5'])
        for (const command of [
          ['dashboard', '--store', store],
          ['serve', '--model', 'tiny'],
          ['up', '--store', store],
        ])
          await refused([...command, '--port', wrong], /port.*\[BAD_INPUT\]$/);
    } finally {
      other.close();
    }
  });
});

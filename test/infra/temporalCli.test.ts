import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { cacheFolder } from '../../core/cacheFolder.js';
import { ROOT } from '../../infra/root.mjs';
import { cacheDir, findTemporalCli, provideTemporalCli, TEMPORAL_CLI_VERSION } from '../../infra/temporal-cli.mjs';
import { program, removeTemporaryFolders, runNode, temporaryFolder, writeInto } from './support.js';

// A proxy without a listener: the download fails at once, even on a machine with network access.
const NO_WAY_OUT = { HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9', NO_PROXY: '' };

const FAKE_GO = `
echo "$@" >> "$FAKE_GO_CALLS"
case "$1" in
  version) echo "go version go1.26.1 linux/amd64" ;;
  build) while [ "$1" != -o ]; do shift; done; printf '#!/bin/sh\\n' > "$2"; chmod 755 "$2" ;;
esac`;

describe('the Temporal CLI', () => {
  afterEach(removeTemporaryFolders);

  const caseOf = () => {
    const folder = temporaryFolder();
    const env: Record<string, string> = {
      PATH: join(folder, 'bin'),
      XDG_CACHE_HOME: join(folder, 'cache'),
      ...NO_WAY_OUT,
    };
    return { folder, env, cached: join(folder, 'cache/gauntlet/temporal-cli', `temporal-${TEMPORAL_CLI_VERSION}`) };
  };

  it('is found in TEMPORAL_CLI, then on PATH, then in the cache', async () => {
    const { folder, env, cached } = caseOf();
    assert.equal(findTemporalCli(env), undefined);
    program(folder, cached.slice(folder.length), '');
    assert.equal(findTemporalCli(env), cached);
    const onPath = program(folder, 'bin/temporal', '');
    assert.equal(findTemporalCli(env), onPath);
    const named = program(folder, 'elsewhere/my-temporal', '');
    assert.equal(findTemporalCli({ ...env, TEMPORAL_CLI: named }), named);
    assert.deepEqual(await provideTemporalCli({ env }), { path: onPath, source: 'PATH' });
  });

  it('is downloaded, and refused before it is unpacked if its digest is another', async () => {
    const { folder, env, cached } = caseOf();
    program(folder, 'archive/temporal', 'echo downloaded');
    const tools = { ...env, PATH: `${env.PATH}:/usr/bin:/bin` };
    execFileSync('tar', ['-czf', '../archive.tgz', 'temporal'], { cwd: join(folder, 'archive') });
    const bytes = readFileSync(join(folder, 'archive.tgz'));
    const server = createServer((_, response) => void response.end(bytes)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/temporal`;
    const machine = `${process.platform}_${process.arch.replace('x64', 'amd64')}`;
    const provide = (sha256: Record<string, string>) => provideTemporalCli({ env: tools, release: { url, sha256 } });
    try {
      await assert.rejects(provide({}), /no archive of the Temporal CLI is known for /);
      await assert.rejects(
        provide({ [machine]: '0'.repeat(64) }),
        /the download is refused: its SHA-256 is [0-9a-f]{64}, not 0+;/,
      );
      assert.deepEqual(readdirSync(join(cached, '..')), []);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      assert.deepEqual(await provide({ [machine]: sha256 }), { path: cached, source: 'download' });
      assert.match(readFileSync(cached, 'utf8'), /echo downloaded/);
    } finally {
      server.close();
    }
  });

  it('and Python, Go and others are not taken from the current folder', async () => {
    const folder = temporaryFolder();
    const pwned = join(folder, 'PWNED');
    for (const name of ['temporal', 'python3', 'nvidia-smi', 'go', 'npm', 'sh', 'docker'])
      program(folder, name, `echo ${name} >> ${pwned}`);
    for (const name of ['pip', 'zipfile', 'sitecustomize'])
      writeInto(folder, `${name}.py`, `open(${JSON.stringify(pwned)}, 'a').write('${name}')`);
    const env = { PATH: `:.:bin:${process.env.PATH}`, PIP_INDEX_URL: 'http://127.0.0.1:9', PIP_RETRIES: '0' };
    await runNode([join(ROOT, 'bin/gauntlet.mjs'), 'doctor'], { cwd: folder, env });
    const wheel = JSON.stringify({ name: 'nonesuch', version: '1', sha256: '0'.repeat(64) });
    const fetch = `const { withPackage } = await import(${JSON.stringify(join(ROOT, 'infra/pypi.mjs'))});
      await withPackage(${wheel}, ${JSON.stringify(join(folder, 'target/x'))}, () => undefined);`;
    const { text } = await runNode(['--input-type=module', '-e', fetch], {
      cwd: folder,
      env: { ...env, PATH: process.env.PATH },
    });
    assert.match(text, /pip cannot download nonesuch from PyPI/);
    assert.ok(!existsSync(pwned), existsSync(pwned) ? readFileSync(pwned, 'utf8') : '');
  });

  it('is an error if TEMPORAL_CLI names no program', () => {
    const { folder, env } = caseOf();
    const file = writeInto(folder, 'notes.txt', '');
    assert.throws(
      () => findTemporalCli({ ...env, TEMPORAL_CLI: file }),
      /TEMPORAL_CLI names .*notes\.txt, which is not an exec/,
    );
  });

  it('is reported as missing in one line that names the ways to install it', async () => {
    const { env } = caseOf();
    await assert.rejects(provideTemporalCli({ env }), (error: Error) => {
      assert.match(error.message, /download failed .*no Go .*Install it .*TEMPORAL_CLI.*Go 1\.25.*TEMPORAL_ADDRESS/);
      assert.equal(error.message.includes('\n'), false);
      return true;
    });
  });

  it('is not built with a Go that is too old', async () => {
    const { folder, env } = caseOf();
    program(folder, 'bin/go', 'echo "go version go1.19.8 linux/amd64"');
    await assert.rejects(provideTemporalCli({ env }), /Go 1\.19 is too old to build it \(1\.25\+\)/);
  });

  it('reports the build step that failed', async () => {
    const { folder, env } = caseOf();
    program(
      folder,
      'bin/go',
      '[ "$1" = version ] && echo "go version go2.0 x" || { echo "dial tcp: lookup failed" >&2; exit 1; }',
    );
    await assert.rejects(provideTemporalCli({ env }), /`go mod init` failed \(dial tcp: lookup failed\)/);
  });

  it('is built once for concurrent callers, and only finished programs reach the cache', async () => {
    const { folder, env, cached } = caseOf();
    program(folder, 'bin/go', FAKE_GO);
    const calls = writeInto(folder, 'calls', '');
    const withGo = { ...env, PATH: `${env.PATH}:/usr/bin:/bin`, FAKE_GO_CALLS: calls };
    const lines: string[] = [];
    const found = await Promise.all(
      [1, 2].map(() => provideTemporalCli({ env: withGo, log: (line) => lines.push(line) })),
    );
    assert.deepEqual(
      found.map(({ path }) => path),
      [cached, cached],
    );
    const steps = readFileSync(calls, 'utf8').trim().split('\n');
    assert.equal(steps.filter((step) => step.startsWith('build')).length, 1);
    assert.ok(
      steps.some((step) => step === `get -tool github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_CLI_VERSION}`),
    );
    assert.ok(lines.some((line) => line.startsWith('building the Temporal CLI')));
    assert.deepEqual(readdirSync(join(cached, '..')), [`temporal-${TEMPORAL_CLI_VERSION}`]);
  });

  it('is cached below the home folder by default', () => {
    for (const env of [
      { HOME: '/home/ada' },
      { HOME: '/home/ada', XDG_CACHE_HOME: '/cache' },
      { HOME: '/home/ada', XDG_CACHE_HOME: '/cache', GAUNTLET_CACHE: '/gauntlet' },
    ])
      assert.equal(cacheDir(env), cacheFolder(env, '/nowhere'));
    assert.equal(cacheDir({ HOME: '/home/ada' }), '/home/ada/.cache/gauntlet');
  });
});

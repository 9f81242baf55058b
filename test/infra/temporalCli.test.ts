import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { cacheFolder } from '../../core/base/cacheFolder.js';
import { ROOT } from '../../infra/root.mjs';
import { cacheDir, findTemporalCli, provideTemporalCli, TEMPORAL_CLI_VERSION } from '../../infra/temporal-cli.mjs';
import { program, runNode, temporaryFolder, writeInto } from './support.js';

// A proxy without a listener: the download fails at once, even on a machine with network access.
const NO_WAY_OUT = { HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9', NO_PROXY: '' };

const FAKE_GO = `
echo "$@" >> "$FAKE_GO_CALLS"
case "$1" in
  version) echo "go version go1.26.1 linux/amd64" ;;
  build) while [ "$1" != -o ]; do shift; done; printf '#!/bin/sh\\n' > "$2"; chmod 755 "$2" ;;
esac`;

describe('the Temporal CLI', () => {
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

  it('is downloaded, and refused before it is unpacked if its digest is wrong', async () => {
    const { folder, env, cached } = caseOf();
    program(folder, 'temporal', 'echo downloaded');
    const bytes = execFileSync('tar', ['-cz', 'temporal'], { cwd: folder });
    const server = createServer((_, response) => void response.end(bytes)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/temporal`;
    const machine = `${process.platform}_${process.arch.replace('x64', 'amd64')}`;
    const provide = (digest: string, name = machine) =>
      provideTemporalCli({ env: { ...env, PATH: '/usr/bin:/bin' }, release: { url, sha256: { [name]: digest } } });
    await assert.rejects(provide('', 'other'), /no archive of the Temporal CLI is known for /);
    await assert.rejects(provide('0'), /the download is refused: its SHA-256 is [0-9a-f]{64}, not 0;/);
    assert.deepEqual(readdirSync(join(cached, '..')), []);
    const found = await provide(createHash('sha256').update(bytes).digest('hex'));
    assert.deepEqual(found, { path: cached, source: 'download' });
    assert.match(readFileSync(cached, 'utf8'), /echo downloaded/);
    server.close();
  });

  it('is never taken from the current folder, nor are other programs', async () => {
    const folder = temporaryFolder();
    for (const name of ['temporal', 'python3', 'nvidia-smi', 'go', 'npm', 'sh']) program(folder, name, 'echo > PWNED');
    for (const name of ['pip', 'zipfile']) writeInto(folder, `${name}.py`, "open('PWNED', 'w')");
    const cwd = folder;
    await runNode([join(ROOT, 'bin/gauntlet.mjs'), 'doctor'], { cwd, env: { PATH: `:.:bin:${process.env.PATH}` } });
    const fetch = `const { withPackage } = await import('${ROOT}/infra/pypi.mjs');
      await withPackage({ name: 'nonesuch', version: '1', sha256: '0' }, '${folder}/target/x', () => undefined);`;
    const env = { PIP_INDEX_URL: 'http://127.0.0.1:9', PIP_RETRIES: '0' };
    const { text } = await runNode(['--input-type=module', '-e', fetch], { cwd, env });
    assert.match(text, /pip cannot download nonesuch from PyPI/);
    assert.equal(text.match(/No matching distribution/g)?.length, 3, 'a download that fails is repeated twice');
    assert.ok(!existsSync(join(folder, 'PWNED')));
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

  it('is not built with an old version of Go, and a failed build step is named', async () => {
    const { folder, env } = caseOf();
    for (const [body, reason] of [
      ['echo "go version go1.19.8 linux/amd64"', /Go 1\.19 is too old to build it \(1\.25\+\)/],
      [
        '[ $1 = version ] && echo go2.0 || { echo "dial: lookup failed" >&2; exit 1; }',
        /`go mod init` failed \(dial: lookup/,
      ],
    ] as const) {
      program(folder, 'bin/go', body);
      await assert.rejects(provideTemporalCli({ env }), reason);
    }
  });

  it('is built once for concurrent callers, and only complete programs reach the cache', async () => {
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

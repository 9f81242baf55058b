// The sandbox that a worker chooses, and the time that it waits for a daemon that has disappeared.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import { openDeps } from '../../workers/deps/deps.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';

const refused =
  (code: string, message = /^Docker does not answer at [^\n]*$/) =>
  (error: unknown) =>
    error instanceof GauntletError && error.code === code && message.test(error.message);

describe('openSandbox', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gauntlet-s-'));
  const socket = path.join(folder, 'd.sock');
  const host = process.env.DOCKER_HOST;
  beforeEach(() => {
    process.env.DOCKER_HOST = `unix://${socket}`;
    fs.rmSync(socket, { force: true });
  });
  after(() => {
    if (host === undefined) delete process.env.DOCKER_HOST;
    else process.env.DOCKER_HOST = host;
    fs.rmSync(folder, { recursive: true });
  });
  /** The socket of a killed daemon: the file exists, but nobody listens. */
  const killed = () => {
    const script = `require('net').createServer().listen(${JSON.stringify(socket)}, () => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', script]);
    assert.ok(fs.existsSync(socket));
  };

  it('uses WebAssembly for auto if no daemon answers, and says so', async () => {
    const lines: string[] = [];
    const sandbox = await openSandbox('auto', { log: (line) => lines.push(line), size: 1, daemonTimeoutMs: 60_000 });
    try {
      assert.equal(sandbox.info.kind, 'wasm');
      assert.match(lines.join('\n'), /^sandbox: Docker does not answer.*; using WebAssembly\n(.*\n)*.*wasm/);
    } finally {
      await sandbox.close();
    }
  });

  it('does not use WebAssembly for auto if programs need a security boundary', async () => {
    const message = /^Docker does not answer[^\n]*; these programs need[^\n]*--sandbox wasm[^\n]*$/;
    await assert.rejects(openSandbox('auto', { fallback: false }), refused('SANDBOX_UNAVAILABLE', message));
  });

  it('uses WebAssembly in a worker only for the shipped models, unless it is chosen', async () => {
    const { deps, close } = await openDeps({ store: path.join(folder, 'store') });
    try {
      for (const [sandbox, model, kind] of [
        ['auto', 'tiny', 'wasm'],
        ['wasm', 'some/model', 'wasm'],
      ] as const)
        assert.equal((await deps.sandbox({ sandbox, model })).info.kind, kind);
      await assert.rejects(
        deps.sandbox({ sandbox: 'auto', model: 'some/model' }),
        refused('SANDBOX_UNAVAILABLE', /--sandbox wasm/),
      );
    } finally {
      await close();
    }
  });

  it('sets the number of programs at work by GAUNTLET_CONTAINERS', async () => {
    process.env.GAUNTLET_CONTAINERS = '3';
    try {
      const sandbox = await openSandbox('wasm');
      assert.match(sandbox.info.description, / · 3 processes · /);
      await sandbox.close();
      process.env.GAUNTLET_CONTAINERS = 'many';
      const message = /^GAUNTLET_CONTAINERS must be a positive whole number, is many$/;
      await assert.rejects(openSandbox('wasm'), refused('BAD_CONFIG', message));
    } finally {
      delete process.env.GAUNTLET_CONTAINERS;
    }
  });

  it('fails at once with one line for docker without a daemon, whatever the timeout', async () => {
    await assert.rejects(openSandbox('docker', { daemonTimeoutMs: 60_000 }), refused('SANDBOX_UNAVAILABLE'));
  });

  it('waits until a killed daemon is back', async () => {
    killed();
    const answers: Record<string, object> = { version: { Version: '28' }, info: { CgroupVersion: '2' } };
    const daemon = http.createServer(({ url }, response) =>
      response.end(JSON.stringify(answers[url!.split('/').pop()!] ?? {})),
    );
    const lines: string[] = [];
    const log = (line: string) => {
      lines.push(line);
      fs.rmSync(socket);
      daemon.listen(socket);
    };
    try {
      // this daemon cannot run programs within limits, so the other one was asked
      const lacks = refused('SANDBOX_UNAVAILABLE', /cannot limit memory/);
      await assert.rejects(openSandbox('docker', { daemonTimeoutMs: 30_000, log }), lacks);
      assert.equal(lines.length, 1);
      assert.match(lines[0]!, /^sandbox: Docker does not answer at .*; start Docker, waiting up to 30 s$/);
    } finally {
      daemon.close();
    }
  });

  it('refuses Podman with one line', async () => {
    const podman = { Version: '4.3.1', Components: [{ Name: 'Podman Engine', Version: '4.3.1' }] };
    const daemon = http.createServer((_, response) => response.end(JSON.stringify(podman)));
    await new Promise<void>((resolve) => daemon.listen(socket, resolve));
    try {
      await assert.rejects(openSandbox('docker'), refused('SANDBOX_UNAVAILABLE', /^[^\n]*Podman answers[^\n]*$/));
    } finally {
      daemon.close();
    }
  });

  it('reports a missing daemon as a retryable fault to workers, and as unavailable to others', async () => {
    killed();
    await assert.rejects(openSandbox('docker', { daemonTimeoutMs: 700 }), refused('SANDBOX_FAULT'));
    await assert.rejects(openSandbox('docker'), refused('SANDBOX_UNAVAILABLE'));
    const lines: string[] = [];
    const auto = await openSandbox('auto', { daemonTimeoutMs: 700, size: 1, log: (line) => lines.push(line) });
    await auto.close();
    assert.equal(auto.info.kind, 'wasm');
    assert.match(lines.join('\n'), /waiting up to 0\.7 s\n.*using WebAssembly/);
  });
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { get, request } from 'node:http';
import { createServer, type Server } from 'node:net';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import { openSession } from '../../cli/run/session.js';
import { createOutput, failureOf } from '../../cli/terminal/output.js';
import { GauntletError } from '../../core/base/errors.js';
import { SEARCH_ATTRIBUTES } from '../../core/temporal/searchAttributes.js';
import { isAlive } from '../../infra/lock.mjs';
import { PLACE } from '../../infra/place.mjs';
import { BLOCKED_BY_BROWSERS, choosePorts, hiddenPorts, isFree } from '../../infra/ports.js';
import { NODE_FLAGS } from '../../infra/scripts.js';
import { findTemporalCli } from '../../infra/temporal-cli.mjs';
import { connect, prepareNamespace } from '../../infra/temporalNamespace.js';
import { ensureServer, runningAddress, type TemporalServer } from '../../infra/temporalServer.js';
import { program, temporaryFolder, writeInto } from './support.js';

const env = { ...process.env, TEMPORAL_ADDRESS: undefined, TEMPORAL_NAMESPACE: undefined };

const coded = (code: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof GauntletError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, message);
  assert.equal(error.message.includes('\n'), false);
  return true;
};

async function occupied(): Promise<{ port: number; listener: Server }> {
  const listener = createServer();
  await new Promise<void>((settle) => listener.listen(0, '127.0.0.1', settle));
  return { port: (listener.address() as { port: number }).port, listener };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
}

describe('ensureServer', () => {
  const owned: TemporalServer[] = [];
  const start = async (options: Parameters<typeof ensureServer>[0]) => {
    const server = await ensureServer({ env, ...options });
    owned.push(server);
    return server;
  };

  before(function () {
    if (findTemporalCli() !== undefined) return;
    if (process.env.GAUNTLET_REQUIRE_TEMPORAL)
      throw new Error('GAUNTLET_REQUIRE_TEMPORAL is set and there is no Temporal CLI');
    this.skip(); // this machine has no Temporal CLI
  });
  afterEach(async () => {
    for (const server of owned.splice(0)) await server.close();
  });

  it('gives the servers of several stores different ports if they start at once', async () => {
    const stores = [1, 2, 3].map(() => join(temporaryFolder(), 'store'));
    const servers = await Promise.all(stores.map((storeDir) => start({ storeDir })));
    assert.equal(new Set(servers.map(({ address }) => address)).size, 3);
    assert.equal(new Set(servers.map(({ uiUrl }) => uiUrl)).size, 3);
  });

  it('keeps its database in a store with any name, and finds it again', async () => {
    const storeDir = join(temporaryFolder(), 'stö #1 %20 😀?x=y&z');
    for (const start of [1, 2]) {
      const server = await ensureServer({ env, storeDir, port: 0, uiPort: 0 });
      assert.ok(existsSync(join(storeDir, 'temporal.db')), `start ${start}`);
      assert.equal(runningAddress(storeDir), server.address);
      await server.close();
    }
    assert.deepEqual(readdirSync(join(storeDir, '..')), [basename(storeDir)]);
  });

  it('starts a server with search attributes, 90 days of history and a Web UI, and shares it with a second command', async () => {
    const storeDir = join(temporaryFolder(), 'store');
    const lines: string[] = [];
    const [one, two] = await Promise.all(
      [1, 2].map(() => start({ storeDir, port: 0, uiPort: 0, log: (line) => lines.push(line) })),
    );
    assert.equal(one!.address, two!.address);
    assert.equal(one!.pid, two!.pid);
    assert.deepEqual([one!.owned, two!.owned].sort(), [false, true]);
    assert.ok(lines.some((line) => line.startsWith(`started a Temporal server at ${one!.address}`)));
    assert.ok(lines.includes(`process ${process.pid} starts a Temporal server for this store: waiting for it`));

    const connection = await connect({ address: one!.address }, 5_000);
    try {
      const { config } = await connection.workflowService.describeNamespace({ namespace: 'default' });
      assert.equal(Number(config?.workflowExecutionRetentionTtl?.seconds), 90 * 24 * 3600);
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'default' });
      for (const name of Object.keys(SEARCH_ATTRIBUTES)) assert.ok(customAttributes?.[name], name);
    } finally {
      await connection.close();
    }
    assert.equal((await fetch(one!.uiUrl!)).status, 200);
    const uiPort = new URL(one!.uiUrl!).port;
    const asked = (headers: Record<string, string>) =>
      new Promise<number>((settle, fail) => {
        const options = { host: '127.0.0.1', port: uiPort, headers };
        get(options, (answer) => settle(answer.resume().statusCode!)).once('error', fail);
      });
    assert.equal(await asked({ host: `localhost:${uiPort}`, origin: `http://localhost:${uiPort}` }), 200);
    assert.equal(await asked({ host: `evil.example:${uiPort}` }), 403);
    assert.equal(await asked({ origin: 'https://evil.example' }), 403);
    assert.equal(await asked({ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }), 403);
    assert.equal((await start({ storeDir, port: 1 })).address, one!.address); // the server keeps its port
    if (process.platform === 'linux') {
      // its HTTP API refuses requests that a page could send, even from a browser that does not block the port
      const [, api] = /--http-port\0(\d+)/.exec(readFileSync(`/proc/${one!.pid}/cmdline`, 'utf8'))!;
      const post = (path: string, host: string) =>
        new Promise<number>((settle, fail) => {
          const options = { host: '127.0.0.1', port: api, method: 'POST', path, headers: { host } };
          const sent = request(options, (answer) => settle(answer.resume().statusCode!)).once('error', fail);
          sent.end('{"workflowType":{"name":"trainFullPipeline"},"taskQueue":{"name":"gauntlet"},"requestId":"r"}');
        });
      for (const host of [`127.0.0.1:${api}`, 'localhost', 'evil.example', 'gauntlet.invalid'])
        assert.equal(await post('/api/v1/namespaces/default/workflows/planted', host), 403, host);
      assert.equal(await post('/namespaces/default/task-queues/gauntlet/nexus-services/x/y', 'evil.example'), 404);
    }

    const owner = one!.owned ? one! : two!;
    await owner.close();
    await owner.exited;
    assert.equal(isAlive(owner.pid!), false);
    assert.equal(existsSync(join(storeDir, 'temporal.json')), false);

    const again = await start({ storeDir, port: 0, uiPort: 0 }); // the server uses the existing database
    assert.equal(again.owned, true);
  });

  it('uses the server at TEMPORAL_ADDRESS and registers missing search attributes', async () => {
    const bare = await start({ storeDir: temporaryFolder(), port: 0, uiPort: 0 });
    const connection = await connect({ address: bare.address }, 5_000);
    await connection.operatorService.removeSearchAttributes({
      namespace: 'default',
      searchAttributes: ['GauntletState'],
    });
    const lines: string[] = [];
    const storeDir = join(temporaryFolder(), 'untouched');
    const server = await ensureServer({
      storeDir,
      env: { ...env, TEMPORAL_ADDRESS: bare.address },
      log: (line) => lines.push(line),
    });
    assert.deepEqual(
      { ...server, close: 0, uiUrl: 0 },
      {
        address: bare.address,
        connection: { address: bare.address },
        namespace: 'default',
        owned: false,
        close: 0,
        uiUrl: 0,
      },
    );
    assert.ok(lines.includes('registered the search attributes GauntletState'), lines.join('; '));
    assert.equal(existsSync(storeDir), false);
    await server.close();
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'default' });
    assert.ok(customAttributes?.GauntletState);
    await connection.close();
    assert.equal(isAlive(bare.pid!), true);
    const elsewhere = { ...env, TEMPORAL_ADDRESS: bare.address, TEMPORAL_NAMESPACE: 'nowhere' };
    await assert.rejects(
      ensureServer({ storeDir, env: elsewhere }),
      coded('SERVER_UNAVAILABLE', /no namespace nowhere/),
    );
  });

  it('accepts a server that does not show its search attributes, and reports other failures', async () => {
    const serverThatFails = (code: number) => {
      const listSearchAttributes = () => Promise.reject(Object.assign(new Error('no'), { code }));
      const workflowService = { describeNamespace: async () => ({}) };
      return { workflowService, operatorService: { listSearchAttributes } } as unknown as Connection;
    };
    const lines: string[] = [];
    const options = { retention: false, log: (line: string) => lines.push(line) };
    for (const code of [7, 12]) await prepareNamespace(serverThatFails(code), 'default', options);
    assert.deepEqual(lines, Array(2).fill('this server does not show its search attributes: runs have none'));
    await assert.rejects(prepareNamespace(serverThatFails(14), 'default', options), { code: 14 });
  });

  it('fails with one line if no server answers at TEMPORAL_ADDRESS', async () => {
    const { port, listener } = await occupied();
    listener.close();
    for (const address of [`127.0.0.1:${port}`, 'localhost', 'a b:1']) {
      const unreachable = { ...env, TEMPORAL_ADDRESS: address };
      const line = new RegExp(
        `no Temporal server answers at ${address} \\(TEMPORAL_ADDRESS\\): .* unset TEMPORAL_ADDRESS`,
      );
      await assert.rejects(
        ensureServer({ storeDir: temporaryFolder(), env: unreachable }),
        coded('SERVER_UNAVAILABLE', line),
      );
    }
  });

  it('fails if the requested port is taken', async () => {
    const { port, listener } = await occupied();
    try {
      const storeDir = temporaryFolder();
      const line = new RegExp(`port ${port} is taken`);
      await assert.rejects(ensureServer({ storeDir, port, env }), coded('PORT_TAKEN', line));
      await assert.rejects(ensureServer({ storeDir, port: 0, uiPort: port, env }), coded('PORT_TAKEN', line));
      await assert.rejects(choosePorts(99_999, undefined), coded('BAD_INPUT', /99999 is not a port number/));
      assert.equal(await isFree(port), false);
    } finally {
      listener.close();
    }
  });

  it('takes the next free port by default', async () => {
    const first = await choosePorts(undefined, undefined);
    const listener = createServer();
    await new Promise<void>((settle) => listener.listen(first.port, '127.0.0.1', settle));
    const second = await choosePorts(undefined, undefined);
    assert.ok(second.port > first.port);
    assert.equal(second.uiPort >= second.port + 1000, true);
    listener.close();
  });

  it('uses ports that browsers block for services without access rules, or says that all are taken', async () => {
    for (const port of BLOCKED_BY_BROWSERS) {
      const refused = await fetch(`http://127.0.0.1:${port}`).catch((error: Error) => error);
      assert.equal(((refused as Error).cause as Error).message, 'bad port', String(port)); // Node listens in the same way
    }
    const hidden = await hiddenPorts();
    for (const port of [hidden.ui.port, hidden.metrics, hidden.http])
      assert.ok((BLOCKED_BY_BROWSERS as readonly number[]).includes(port), String(port));
    assert.notEqual(hidden.metrics, hidden.http);
    const { port, listener } = await occupied();
    try {
      if (process.platform === 'linux') {
        const { ui, metrics, http } = await hiddenPorts([port]); // the UI has its own address
        assert.equal(ui.port, port);
        assert.notEqual(ui.host, '127.0.0.1');
        for (const other of [metrics, http]) assert.ok(other !== port && (await isFree(other)));
      } else await assert.rejects(hiddenPorts([port]), coded('PORT_TAKEN', /needs one of the ports \d+, and all are/));
    } finally {
      listener.close();
    }
  });

  it('ends the server when its parent is killed, and the next start ignores its state file', async () => {
    const storeDir = temporaryFolder();
    const script = `
      const { ensureServer } = await import(${JSON.stringify(import.meta.resolve('../../infra/temporalServer.js'))});
      const { pid } = await ensureServer({ storeDir: process.argv[1], port: 0, uiPort: 0 });
      process.stdout.write(String(pid));
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, [...NODE_FLAGS, '--input-type=module', '-e', script, storeDir], {
      env: env as NodeJS.ProcessEnv,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const pid = Number(
      await new Promise<string>((settle) => parent.stdout.once('data', (data) => settle(String(data)))),
    );
    assert.equal(isAlive(pid), true);
    parent.kill('SIGKILL');
    await until(() => !isAlive(pid));
    assert.equal(existsSync(join(storeDir, 'temporal.json')), true);
    const next = await start({ storeDir, port: 0, uiPort: 0 });
    assert.equal(next.owned, true);
    assert.notEqual(next.pid, pid);
  });

  it('reports the exit of a killed server to its owner', async () => {
    const storeDir = temporaryFolder();
    const server = await start({ storeDir, port: 0, uiPort: 0 });
    process.kill(server.pid!, 'SIGKILL');
    await server.exited;
    const next = await start({ storeDir, port: 0, uiPort: 0 });
    assert.notEqual(next.pid, server.pid);
  });

  it('shows the last line of the log if the server fails to start', async () => {
    const folder = temporaryFolder();
    const broken = program(folder, 'temporal', `echo "${'could not build: '.repeat(50)}disk is full" >&2; exit 1`);
    const line = /ended at once: .{280,}: disk is full \(see .*temporal\.log\)/;
    await assert.rejects(
      ensureServer({ storeDir: folder, port: 0, uiPort: 0, env: { ...env, TEMPORAL_CLI: broken } }),
      coded('SERVER_UNAVAILABLE', line),
    );
    const missing = { ...env, TEMPORAL_CLI: join(folder, 'none') };
    await assert.rejects(
      ensureServer({ storeDir: folder, env: missing }),
      coded('SERVER_UNAVAILABLE', /TEMPORAL_CLI names/),
    );
  });

  it('shows the cause in a log that ends with a stack trace', async () => {
    const folder = temporaryFolder();
    const trace = 'printf "panic: disk is full\\n\\nmain.main()\\n\\tmain.go:18 +0x96\\n" >&2; exit 2';
    const broken = program(folder, 'temporal', trace);
    await assert.rejects(
      ensureServer({ storeDir: folder, port: 0, uiPort: 0, env: { ...env, TEMPORAL_CLI: broken } }),
      coded('SERVER_UNAVAILABLE', /ended at once: panic: disk is full \(see/),
    );
  });

  it('tries again at most twice if another program takes a port of the server', async () => {
    const folder = temporaryFolder();
    const starts = join(folder, 'starts');
    const losing = (times: number) =>
      program(
        folder,
        'temporal',
        `echo >> ${starts}; [ "$(wc -l < ${starts})" -gt ${times} ] && exec ${findTemporalCli()} "$@"
         echo "listen tcp 127.0.0.1:1: bind: address already in use" >&2; exit 1`,
      );
    const options = { storeDir: folder, port: 0, uiPort: 0 };
    await start({ ...options, env: { ...env, TEMPORAL_CLI: losing(2) } });
    assert.equal(readFileSync(starts, 'utf8').length, 3);
    await owned.pop()?.close();
    await assert.rejects(
      ensureServer({ ...options, env: { ...env, TEMPORAL_CLI: losing(99) } }),
      coded('SERVER_UNAVAILABLE', /address already in use/),
    );
    assert.equal(readFileSync(starts, 'utf8').length, 6);
  });

  it('refuses to start a server in the folder of another machine, and changes nothing there', async () => {
    const storeDir = temporaryFolder({ 'temporal.db': 'its database' });
    const other = join(storeDir, 'hosts', 'box-0123abcd~another-boot~1~server~00');
    mkdirSync(join(storeDir, 'hosts'));
    writeFileSync(other, '');
    let seconds = 0;
    const beat = setInterval(() => utimesSync(other, ++seconds, seconds), 100);
    const refused = coded('BAD_CONFIG', /in use by another machine \(box, process 1\)/);
    await assert
      .rejects(ensureServer({ storeDir, port: 0, uiPort: 0, env }), refused)
      .finally(() => clearInterval(beat));
    assert.equal(readFileSync(join(storeDir, 'temporal.db'), 'utf8'), 'its database');
    assert.deepEqual(readdirSync(storeDir).sort(), ['hosts', 'temporal.db']);
  });

  it('ignores a state file whose pid belongs to another program', async () => {
    const storeDir = temporaryFolder();
    const state = { pid: process.pid, place: PLACE, port: 1, uiPort: 2, database: join(storeDir, 'temporal.db') };
    writeInto(storeDir, 'temporal.json', JSON.stringify(state));
    const server = await start({ storeDir, port: 0, uiPort: 0 });
    assert.equal(JSON.parse(readFileSync(join(storeDir, 'temporal.json'), 'utf8')).pid, server.pid);
  });

  it('is not asked under an address where it no longer is, because another program may have the port', async () => {
    const storeDir = temporaryFolder();
    await start({ storeDir, port: 0, uiPort: 0 });
    const { TEMPORAL_ADDRESS: address } = process.env;
    delete process.env.TEMPORAL_ADDRESS;
    const session = await openSession({ store: storeDir }, createOutput(), 'none');
    try {
      const ask = () =>
        session.client.connection.withDeadline(Date.now() + 5000, () =>
          session.client.workflowService.getSystemInfo({}),
        );
      await ask();
      const file = join(storeDir, 'temporal.json');
      const state = JSON.parse(readFileSync(file, 'utf8'));
      writeFileSync(file, JSON.stringify({ ...state, port: 1 }));
      await assert.rejects(ask(), (error) => {
        const message = 'the Temporal server of this store is now at 127.0.0.1:1: run the same command again';
        assert.equal(failureOf(error).message, message);
        return true;
      });
      rmSync(file);
      await assert.rejects(ask(), /it has ended/);
    } finally {
      await session.close();
      if (address !== undefined) process.env.TEMPORAL_ADDRESS = address;
    }
  });
});

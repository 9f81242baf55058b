// Attacks from a page of a foreign web site, in a real browser, on every port of `gauntlet up` and its child processes.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { type Browser, chromium, type Page } from 'playwright-core';
import { BLOCKED_BY_BROWSERS } from '../../infra/ports.js';
import { ROOT } from '../../infra/root.mjs';
import { chromiumPath, NO_CHROMIUM } from '../../lab/chromium.js';
import { needTemporal } from '../workflows/server.js';
import { temporaryFolder } from './support.js';

interface Port {
  host: string;
  port: number;
}

const START = {
  workflowType: { name: 'trainFullPipeline' },
  taskQueue: { name: 'gauntlet' },
  requestId: 'r',
};
const END = {
  jobId: 'x',
  visibilityQuery: 'WorkflowType="trainFullPipeline"',
  reason: 'x',
  deletionOperation: { identity: 'x' },
};
const PATHS = ['/', '/metrics', '/api/v1/namespaces', '/api/v1/namespaces/default/workflows', '/debug/pprof/'];
const API = '/api/v1/namespaces/default';

interface PageDocument {
  cookie: string;
  body: { append(element: object): void };
  createElement(name: string): { append(element: object): void; submit(): void };
}

/** The attempts of a page at one address. Returns what the page could read; the server records the rest. */
const attack = async ({ at, paths, bodies }: { at: string; paths: string[]; bodies: Record<string, string> }) => {
  const { document } = globalThis as unknown as { document: PageDocument };
  const read: string[] = [];
  const attempt = async (what: string, work: () => Promise<string>) => {
    const text = await Promise.race([
      work().catch(() => ''),
      new Promise<string>((resolve) => setTimeout(() => resolve(''), 3_000)),
    ]);
    if (text !== '') read.push(`${what} ${at}: ${text.slice(0, 100)}`);
  };
  const reading = async (path: string, init?: RequestInit) => {
    const response = await fetch(at + path, init);
    return `${response.type === 'opaque' ? '' : response.status} ${await response.text()}`.trim();
  };
  for (const path of paths) {
    await attempt('cors', () => reading(path));
    await attempt('no-cors', () => reading(path, { mode: 'no-cors', credentials: 'include' }));
  }
  const token = /_csrf=([^;]*)/.exec(document.cookie)?.[1] ?? '';
  for (const [path, body] of Object.entries(bodies)) {
    await attempt('blind', () => reading(path, { method: 'POST', mode: 'no-cors', body }));
    const headers = { 'content-type': 'application/json', 'x-csrf-token': token };
    await attempt('with the cookie', () => reading(path, { method: 'POST', headers, body }));
    const form = document.createElement('form');
    const [start, end] = body.split(/(?=\}$)/);
    const field = Object.assign(document.createElement('input'), { name: `${start},"x":"`, value: `"${end}` });
    Object.assign(form, { method: 'POST', action: at + path, enctype: 'text/plain', target: 'frame' });
    form.append(field);
    document.body.append(form);
    form.submit();
  }
  await attempt(
    'web socket',
    () =>
      new Promise((resolve, reject) => {
        const socket = new WebSocket(at.replace('http', 'ws'));
        socket.onopen = () => resolve('opened');
        socket.onerror = () => reject(new Error());
      }),
  );
  await new Promise((resolve) => setTimeout(resolve, 300)); // the target of the forms
  return read;
};

/** The TCP ports at which a process and its descendants listen, from /proc. */
function portsOf(pid: number): Port[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const status = reading(() => readFileSync(`/proc/${name}/stat`, 'utf8')) ?? '';
    parents.set(Number(name), Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[1]));
  }
  const isOurs = (one: number): boolean => one === pid || (parents.has(one) && isOurs(parents.get(one)!));
  const sockets = new Set<string>();
  for (const one of [...parents.keys()].filter(isOurs)) {
    for (const fd of reading(() => readdirSync(`/proc/${one}/fd`)) ?? []) {
      const target = reading(() => readlinkSync(`/proc/${one}/fd/${fd}`)) ?? '';
      sockets.add(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? '');
    }
  }
  const found: Port[] = [];
  for (const line of readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)) {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    if (state !== '0A' || !sockets.has(inode!)) continue; // 0A is the state LISTEN
    const [address, port] = local!.split(':');
    const host = address!
      .match(/../g)!
      .reverse()
      .map((byte) => Number.parseInt(byte, 16))
      .join('.');
    found.push({ host, port: Number.parseInt(port!, 16) });
  }
  for (const line of readFileSync('/proc/net/tcp6', 'utf8').trim().split('\n').slice(1)) {
    const [, , , state, , , , , , inode] = line.trim().split(/\s+/);
    assert.ok(state !== '0A' || !sockets.has(inode!), `a listener for IPv6: ${line}`);
  }
  return found;
}

function reading<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined; // the process has ended
  }
}

describe(`a page of a foreign web site${chromiumPath === undefined ? ` (skipped: ${NO_CHROMIUM})` : ''}`, () => {
  let up: ChildProcess | undefined;
  let printed: { address: string; ui: string };
  let ports: Port[];
  let browser: Browser;
  let client: Client;
  /** The servers of the test: one serves the page, and the other is attacked to show that the attack works. */
  let foreign: Server;
  let open: Server;
  const received: string[] = [];

  async function startUp(): Promise<void> {
    const env = { ...process.env, TEMPORAL_ADDRESS: undefined, TEMPORAL_NAMESPACE: undefined } as NodeJS.ProcessEnv;
    const args = ['up', '--store', join(temporaryFolder(), 'store'), '--port', '0', '--ui-port', '0', '--json'];
    const stdio: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit'];
    up = spawn(process.execPath, [join(ROOT, 'bin/gauntlet.mjs'), ...args], { env, stdio });
    const [line] = (await once(up.stdout!, 'data')) as [Buffer];
    printed = JSON.parse(String(line)) as typeof printed;
    ports = portsOf(up.pid!);
  }

  async function stopUp(): Promise<void> {
    if (up === undefined) return;
    up.kill('SIGINT');
    await once(up, 'exit');
  }

  before(async function () {
    needTemporal(this);
    if (chromiumPath === undefined || process.platform !== 'linux') this.skip(); // the test needs /proc
    // other tests may occupy all blocked ports; the server then uses random ports, as SECURITY.md says
    for (let attempt = 1; ; attempt++) {
      await startUp();
      const hidden = ports.filter(({ port }) => (BLOCKED_BY_BROWSERS as readonly number[]).includes(port));
      if (hidden.length === 3) break; // Web UI, metrics and HTTP
      assert.ok(attempt < 5, `the list of blocked ports is used up: ${JSON.stringify(ports)}`);
      await stopUp();
      await sleep(10_000);
    }
    client = new Client({ connection: await Connection.connect({ address: printed.address }) });
    foreign = createServer((_, response) => response.end('<iframe name="frame"></iframe>'));
    open = createServer((request, response) => {
      received.push(`${request.method} ${request.url}`);
      response.end('open');
    });
    for (const server of [foreign, open]) await once(server.listen(0, '127.0.0.1'), 'listening');
    const hosts = [...new Set(ports.map(({ host }) => host))];
    const rules = hosts.map((host) => `MAP ${reboundTo(host)} ${host}`).join(', ');
    // newer versions ask the user before a page reaches this machine: test without that
    const off = 'LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessChecks';
    const flags = ['--no-sandbox', `--disable-features=${off}`, `--host-resolver-rules=${rules}`];
    browser = await chromium.launch({ executablePath: chromiumPath, args: flags });
  });

  after(async () => {
    await browser?.close();
    await client?.connection.close();
    for (const server of [foreign, open]) server?.close();
    await stopUp();
  });

  const portOf = (server: Server): number => (server.address() as AddressInfo).port;
  const reboundTo = (host: string): string => `at-${host.replaceAll('.', '-')}.evil.test`;
  const bodies = {
    [`${API}/workflows/planted`]: JSON.stringify(START),
    [`${API}/batch-operations/x`]: JSON.stringify(END),
  };

  /** Opens a page of `origin`. Its own server sends the page; all other requests go to the network. */
  async function pageOf(origin: string): Promise<Page> {
    const page = await browser.newPage();
    const body = '<iframe name="frame"></iframe>';
    await page.route(`${origin}/page`, (route) => route.fulfill({ contentType: 'text/html', body }));
    await page.goto(`${origin}/page`);
    return page;
  }

  async function runs(): Promise<string[]> {
    const found: string[] = [];
    for await (const { workflowId } of client.workflow.list()) found.push(workflowId);
    return found;
  }

  it('can attack a server that has no access rules', async () => {
    const rebound = `http://${reboundTo('127.0.0.1')}:${portOf(open)}`;
    const page = await pageOf(rebound);
    const read = await page.evaluate(attack, { at: rebound, paths: PATHS, bodies });
    await page.close();
    assert.ok(read.includes(`cors ${rebound}: 200 open`), read.join('\n') || 'nothing was read');
    const elsewhere = await browser.newPage();
    await elsewhere.goto(`http://127.0.0.1:${portOf(foreign)}/`);
    received.length = 0;
    await elsewhere.evaluate(attack, { at: `http://127.0.0.1:${portOf(open)}`, paths: PATHS, bodies });
    await elsewhere.close();
    const posts = received.filter((line) => line === `POST ${API}/workflows/planted`);
    assert.ok(posts.length >= 2, received.join('\n') || 'nothing arrived'); // one request and one form
  });

  it('reaches none of the ports that the project considers blocked, but would reach others', async () => {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${portOf(foreign)}/`);
    const reaches = (port: number): Promise<boolean> =>
      page.evaluate(
        (url) =>
          fetch(url, { mode: 'no-cors' }).then(
            () => true,
            () => false,
          ),
        `http://127.0.0.1:${port}/`,
      );
    assert.ok(await reaches(portOf(open)));
    for (const port of BLOCKED_BY_BROWSERS) {
      const server = createServer((_, response) => response.end('reached')).listen(port, '127.0.0.1');
      await once(server, 'listening').catch(() => undefined); // another server uses the port
      const reached = await reaches(port);
      server.close();
      assert.equal(reached, false, `port ${port}`);
    }
    await page.close();
  });

  it('reads nothing and starts nothing at any port of gauntlet up from another origin', async () => {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${portOf(foreign)}/`);
    for (const { host, port } of ports) {
      for (const name of [host, reboundTo(host)]) {
        const read = await page.evaluate(attack, { at: `http://${name}:${port}`, paths: PATHS, bodies });
        assert.deepEqual(read, [], read.join(' | '));
      }
    }
    await page.close();
    assert.deepEqual(await runs(), []);
  });

  it('reads nothing and starts nothing at any port of gauntlet up through a name for this machine', async () => {
    const uiPort = Number(new URL(printed.ui).port);
    assert.ok(ports.some(({ port }) => port === uiPort));
    assert.ok(ports.length >= 6, JSON.stringify(ports)); // if there were two proxies, one would be missing
    for (const { host, port } of ports) {
      const origin = `http://${reboundTo(host)}:${port}`;
      const page = await pageOf(origin).catch(() => undefined); // browsers refuse to open pages of some ports
      if (page === undefined) continue;
      const read = await page.evaluate(attack, { at: origin, paths: PATHS, bodies });
      await page.close();
      const refusal = /: 403 (this server has another host|pages of other web sites may not ask this server)\s*$/;
      const told = port === uiPort ? read.filter((line) => !refusal.test(line)) : read;
      assert.deepEqual(told, [], told.join(' | '));
    }
    assert.deepEqual(await runs(), []);
  });

  it('does not prevent a user from opening the Web UI at the printed address', async () => {
    await client.workflow.start('shown', { taskQueue: 'nobody', workflowId: 'a-run-to-show' });
    const page = await browser.newPage();
    await page.goto(`${printed.ui}/namespaces/default/workflows`);
    await page.getByText('a-run-to-show').first().waitFor({ timeout: 60_000 });
    await page.close();
    await client.workflow.getHandle('a-run-to-show').terminate();
  });
});

// The answers of the dashboard's server, and the requests that it refuses.
import assert from 'node:assert/strict';

import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createActivities } from '../../activities/index.js';
import { GauntletError } from '../../core/base/errors.js';
import type { ControlRequest } from '../../dashboard/api.js';
import type { Controls } from '../../dashboard/controls.js';
import { openResources } from '../../dashboard/data/resources.js';
import { type Dashboard, dashboardServer, startDashboard } from '../../dashboard/server.js';
import { openStore } from '../../store/openStore.js';
import { writeMetrics } from '../../store/runs.js';
import { holdConnections } from '../support/connections.js';
import { type Doubles, doubles, TINIEST_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { sampleStep } from '../support/sample.js';

interface Answer {
  status: number;
  headers: Record<string, unknown>;
  body: string;
}

/** Sends a request with any Host and Origin, which fetch cannot do. */
function ask(
  url: string,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
  body?: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, url), { headers, method }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        const body = Buffer.concat(parts).toString('utf8');
        resolve({ status: response.statusCode!, headers: response.headers, body });
      });
    });
    sent.on('error', reject).end(body);
  });
}

const asked: [run: string, request: ControlRequest][] = [];
const controls: Controls = {
  states: async () => ({ states: { run: { state: 'running', isOpen: true } } }),
  live: async () => ({ notes: [], actions: [] }),
  request: async (...given) => {
    asked.push(given);
    if (given[1].action === 'resume') throw new GauntletError('BAD_INPUT', 'the run is not paused');
    return { said: 'pauses after the current step' };
  },
};

describe('the server of the dashboard', () => {
  let world: Doubles;
  let dashboard: Dashboard;
  const get = (path: string, headers?: Record<string, string>, method?: string) =>
    ask(dashboard.url, path, headers, method);

  before(async () => {
    world = await doubles();
    await runPipeline(createActivities(world.deps), 'run', TINIEST_RUN);
    const resources = openResources(await openStore(world.folder));
    dashboard = await startDashboard({ resources, controls, host: '127.0.0.1', port: 0 });
  });
  after(async () => {
    await dashboard.close();
  });

  it('answers an invalid address with status 400', async () => {
    const { port } = new URL(dashboard.url);
    for (const path of ['//', '///', '/\\', 'http://[', '//:1']) {
      const status = await new Promise((resolve, reject) => {
        const sent = request({ host: '127.0.0.1', port, path }, (answer) => resolve(answer.resume().statusCode));
        sent.on('error', reject).end();
      });
      assert.ok(status === 400 || status === 404, `${path}: ${status}`);
    }
    assert.equal((await get('/')).status, 200);
  });

  it('serves the pages with a policy that allows only their own scripts', async () => {
    for (const [path, type] of [
      ['/', 'text/html'],
      ['/main.js', 'text/javascript'],
      ['/main.css', 'text/css'],
    ] as const) {
      const { status, headers } = await get(path);
      assert.equal(status, 200, path);
      assert.match(String(headers['content-type']), new RegExp(type));
      assert.match(String(headers['content-security-policy']), /default-src 'none'; script-src 'self';/);
      assert.equal(headers['x-content-type-options'], 'nosniff');
    }
    assert.equal((await get('/../package.json')).status, 404);
  });

  it('serves resources as JSON, and names the problem of a bad path', async () => {
    const { status, headers, body } = await get('/api/runs');
    assert.equal(status, 200);
    assert.match(String(headers['content-type']), /application\/json/);
    assert.equal(JSON.parse(body).runs[0].id, 'run');
    assert.deepEqual(JSON.parse((await get('/api/live')).body), await controls.states());
    const missing = await get('/api/runs/other');
    assert.equal(missing.status, 404);
    assert.match(JSON.parse(missing.body).error.message, /no run other/);
  });

  it('refuses foreign hosts, foreign origins and other methods', async () => {
    const { host, port } = new URL(dashboard.url);
    assert.equal((await get('/api/runs', { host: `evil.example:${port}` })).status, 403);
    for (const near of [
      `127.0.0.1.evil.example:${port}`,
      `localhost.evil.example:${port}`,
      `evil@${host}`,
      `0.0.0.0:${port}`,
    ])
      assert.equal((await get('/api/runs', { host: near })).status, 403, near);
    assert.equal((await get('/api/runs', { host: `localhost:${port}` })).status, 200);
    assert.equal((await get('/api/runs', { origin: 'https://evil.example' })).status, 403);
    for (const path of ['/', '/main.js', '/api/versions', '/api/live', '/api/live/run'])
      for (const [name, value] of [
        ['origin', 'https://evil.example'],
        ['origin', 'null'],
        ['host', 'evil.example'],
      ] as const)
        assert.equal((await get(path, { [name]: value })).status, 403, `${path} ${name}`);
    assert.equal((await get('/api/runs', { origin: `http://${host}` })).status, 200);
    for (const site of ['cross-site', 'same-site']) // `same-site` includes another port of this machine
      assert.equal((await get('/api/runs', { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors' })).status, 403, site);
    assert.equal(
      (await get('/api/runs', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'no-cors' })).status,
      200,
    );
    assert.equal((await get('/', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' })).status, 200);
    assert.equal((await get('/api/runs', {}, 'PUT')).status, 405);
  });

  it('passes a control request of its own pages on, and returns the answer of the run', async () => {
    const own = { origin: dashboard.url.slice(0, -1), 'content-type': 'application/json' };
    const post = (body: string, headers: Record<string, string> = own, path = '/api/control/a%3Ab') =>
      ask(dashboard.url, path, { 'content-length': String(Buffer.byteLength(body)), ...headers }, 'POST', body);
    const pause = '{"action":"pause"}';
    const accepted = await post(pause);
    assert.deepEqual([accepted.status, JSON.parse(accepted.body)], [200, { said: 'pauses after the current step' }]);
    const refused = await post('{"action":"resume"}');
    assert.equal(refused.status, 400);
    assert.equal(JSON.parse(refused.body).error.message, 'the run is not paused');
    const passed = [['a:b', { action: 'pause' }] as const, ['a:b', { action: 'resume' }] as const];
    assert.deepEqual(asked, passed);

    const { origin, ...noOrigin } = own;
    const { port } = new URL(dashboard.url);
    const form = 'application/x-www-form-urlencoded';
    for (const [headers, status] of [
      [{ ...own, origin: 'https://evil.example' }, 403],
      [{ ...own, origin: 'null' }, 403],
      [{ ...own, origin: `http://127.0.0.1:${Number(port) + 1}` }, 403],
      [noOrigin, 403],
      [{ ...own, host: `evil.example:${port}`, origin: `http://evil.example:${port}` }, 403],
      [{ ...own, 'content-type': 'text/plain' }, 400],
      [{ ...own, 'content-type': form }, 400],
    ] as const)
      assert.equal((await post(pause, headers)).status, status, JSON.stringify(headers));
    for (const body of ['', '{', '[]', '{"action":"delete"}', '{"action":"pause","run":"other"}', '{"action":"fork"}'])
      assert.equal((await post(body)).status, 400, body);
    assert.equal((await post(JSON.stringify({ action: 'pause', more: 'x'.repeat(2000) }))).status, 400);
    assert.equal((await post(pause, own, '/api/live/a')).status, 405);
    assert.equal((await get('/api/control/a')).status, 404);
    assert.deepEqual(asked, passed, 'a refused request reaches nothing');
  });

  it('says which runs have new records, and reads the store once for requests at the same time', async () => {
    const versionOf = async () => JSON.parse((await get('/api/versions')).body).versions.run as string;
    const before = await versionOf();
    await writeMetrics(world.deps.store, 'run', 99, sampleStep(99));
    assert.equal(await versionOf(), before);
    await sleep(2100);
    assert.notEqual(await versionOf(), before);
  });

  it('answers while other clients hold silent connections or connections with an unfinished request', async () => {
    const sockets = await holdConnections(dashboard.url, 300);
    assert.equal((await get('/api/runs')).status, 200);
    for (const socket of sockets) socket.destroy();
  });

  it('reports an address that it cannot use', async () => {
    const { port } = new URL(dashboard.url);
    const resources = { read: async () => ({}) };
    await assert.rejects(
      startDashboard({ resources, controls, host: '127.0.0.1', port: Number(port) }),
      /--host or --port/,
    );
  });
});

describe('the token of the dashboard', () => {
  it('is needed if the server is reachable from outside: in the address, then in a cookie, or as a bearer', async () => {
    const resources = { read: async () => ({ runs: [] }) };
    const { server, token = '' } = dashboardServer(resources, controls, 'dashboard.test', new Map());
    assert.ok(token.length >= 32);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const local = `http://127.0.0.1:${port}`;
      assert.equal((await ask(local, '/api/runs')).status, 401);
      const own = { origin: local, 'content-type': 'application/json' };
      assert.equal((await ask(local, '/api/control/run', own, 'POST', '{"action":"pause"}')).status, 401);
      assert.equal((await ask(local, `/?token=${'x'.repeat(token.length)}`)).status, 401);
      const entered = await ask(local, `/?token=${token}`);
      assert.equal(entered.status, 303);
      const cookie = String((entered.headers['set-cookie'] as string[])[0]);
      assert.match(cookie, /HttpOnly; SameSite=Strict/);
      assert.equal((await ask(local, '/api/runs', { cookie: cookie.split(';')[0]! })).status, 200);
      assert.equal((await ask(local, '/api/runs', { authorization: `Bearer ${token}` })).status, 200);
      const wrong = `Bearer é${'x'.repeat(token.length - 1)}`; // has as many characters, but more bytes
      assert.equal((await ask(local, '/api/runs', { authorization: wrong })).status, 401);
      // a foreign page whose name leads here does not know the token; a proxy may use another name
      assert.equal((await ask(local, '/api/runs', { host: 'evil.example' })).status, 401);
      const known = { host: 'runs.example', authorization: `Bearer ${token}` };
      assert.equal((await ask(local, '/api/runs', known)).status, 200);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});

// Downloads models from a local hub that is honest or hostile.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { asFault } from '../../data/hub/download.js';
import { PACE } from '../../data/hub/pace.js';
import { commitOf, modelFolder } from '../../data/modelFolder.js';
import { NODE_FLAGS } from '../../infra/scripts.js';
import { COMMIT, digestOf, type Entry, type FakeHub, refusedWith, TOKEN, useHub } from '../support/hub.js';
import { type FakeProxy, openProxy, withVariables } from '../support/proxy.js';

const WEIGHTS = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7 + (i >> 8)) % 256));
const FILES = { 'config.json': '{"a": 1}', 'tokenizer.json': '{}', 'model.safetensors': WEIGHTS };

describe('a model of the Hugging Face hub', () => {
  let hub: FakeHub;
  let place: string;
  let leave: () => Promise<void>;
  const repository = () => join(place, 'hub', 'models--some--model');
  const blobs = (): string[] =>
    existsSync(join(repository(), 'blobs')) ? readdirSync(join(repository(), 'blobs')) : [];
  const refused = (code: 'BAD_MODEL' | 'HUB_FAULT', message: RegExp, model = 'some/model') =>
    refusedWith(modelFolder(model), code, message);

  beforeEach(async () => {
    ({ hub, place, leave } = await useHub(FILES));
  });
  afterEach(() => leave());

  it('is downloaded into the layout of the hub cache, and found there afterwards', async () => {
    hub.files.set('pytorch_model.bin', Buffer.from('pickle')).set('run.py', Buffer.from('code'));
    const seen: number[] = [];
    const folder = await modelFolder('some/model', ({ done, total }) => {
      assert.equal(total, WEIGHTS.length + 10);
      seen.push(done);
    });
    assert.equal(folder, join(repository(), 'snapshots', COMMIT));
    assert.deepEqual(readdirSync(folder).sort(), Object.keys(FILES).sort());
    assert.deepEqual(readFileSync(join(folder, 'model.safetensors')), WEIGHTS);
    const link = readlinkSync(join(folder, 'model.safetensors'));
    assert.equal(link, join('..', '..', 'blobs', digestOf('model.safetensors', WEIGHTS)));
    assert.equal(readFileSync(join(repository(), 'refs', 'main'), 'utf8'), COMMIT);
    assert.equal(commitOf(folder), COMMIT);
    assert.equal(commitOf(place), undefined);
    assert.equal(seen.at(-1), WEIGHTS.length + 10);
    const { length } = hub.requests;
    for (const name of ['some/model', 'some/model@main', `some/model@${COMMIT}`])
      assert.equal(await modelFolder(name), folder);
    assert.equal(hub.requests.length, length, 'the cache answers');
    assert.ok(!hub.requests.some(({ path }) => /pytorch|run\.py/.test(path)));
  });

  it('may have shards, but a single file is preferred', async () => {
    hub.files.delete('model.safetensors');
    for (const name of ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'])
      hub.files.set(name, Buffer.from(name));
    await refused('HUB_FAULT', /sent an invalid answer: it has no config\.json or no safetensors$/);
    hub.files.set('model.safetensors.index.json', Buffer.from('{}'));
    const names = readdirSync(await modelFolder('some/model@v1'));
    assert.equal(names.filter((name) => name.startsWith('model')).length, 3);
    hub.files.set('model.safetensors', WEIGHTS);
    await rm(join(repository(), 'snapshots'), { recursive: true });
    const single = readdirSync(await modelFolder('some/model@v2'));
    assert.deepEqual(
      single.filter((name) => name.startsWith('model')),
      ['model.safetensors'],
    );
  });

  it('is completed if files are missing in its folder', async () => {
    const folder = await modelFolder('some/model');
    const blob = join(repository(), 'blobs', digestOf('model.safetensors', WEIGHTS));
    await rm(blob);
    assert.equal(await modelFolder('some/model'), folder);
    assert.deepEqual(readFileSync(blob), WEIGHTS);
  });

  it('is requested with the token from HF_TOKEN or the login file, which is sent only to the hub', async () => {
    const sent = () =>
      [...new Set(hub.requests.map(({ origin, authorization }) => `${origin} ${authorization}`))].sort();
    process.env.HF_TOKEN = TOKEN;
    await modelFolder('some/model');
    assert.deepEqual(sent(), ['cdn undefined', `hub Bearer ${TOKEN}`]);
    delete process.env.HF_TOKEN;
    await rm(repository(), { recursive: true });
    await writeFile(join(place, 'token'), 'hf_other\n');
    hub.requests.length = 0;
    await modelFolder('some/model');
    assert.deepEqual(sent(), ['cdn undefined', 'hub Bearer hf_other']);
  });

  it('is refused if the list of its files has no end', async () => {
    hub.listing = () => [];
    hub.link = `<${hub.url}/api/models/some/model/tree/${COMMIT}?cursor=x>; rel="next"`;
    await refused('HUB_FAULT', /sent an invalid answer: its list of files has more than 99 pages$/);
    assert.equal(hub.requests.length, 100);
  });

  describe('from a hub that sends too slowly', () => {
    const { ms } = PACE;
    const slow = /cannot be reached \(it sends less than 256 KiB in 0\.1 s\)/;
    const drip = (response: ServerResponse): true => {
      const timer = setInterval(() => response.write('x'), 10);
      response.once('close', () => clearInterval(timer));
      return true;
    };
    beforeEach(() => {
      PACE.ms = 100;
    });
    afterEach(() => {
      PACE.ms = ms;
    });

    it('fails after four attempts at a file', async () => {
      let asked = 0;
      hub.send = (name, _request, response) => name === 'model.safetensors' && ++asked > 0 && drip(response);
      await refused('HUB_FAULT', slow);
      assert.equal(asked, 4);
      assert.ok(!blobs().includes(digestOf('model.safetensors', WEIGHTS)));
    });

    it('fails at the list of files, and if nothing is sent at all', async () => {
      for (hub.drip of [drip, () => true as const]) await refused('HUB_FAULT', slow);
    });
  });

  describe('behind a proxy', () => {
    let proxy: FakeProxy;
    beforeEach(async () => {
      proxy = await openProxy();
      hub.cdn = hub.cdn.replace('127.0.0.1', 'cdn.example');
    });
    afterEach(() => proxy.close());
    const through = (work: () => Promise<unknown>, user = ''): Promise<unknown> => {
      process.env.HF_ENDPOINT = hub.url.replace('127.0.0.1', 'hub.example');
      const address = proxy.url.replace('://', `://${user}`);
      return withVariables({ HTTP_PROXY: address, https_proxy: address, no_proxy: '127.0.0.1' }, work);
    };

    it('is downloaded through the proxy, including redirects, and continued after an interruption', async () => {
      let cuts = 1;
      hub.send = (name, _request, response) =>
        name === 'model.safetensors' && cuts-- > 0 && breakOff(response, 100_000);
      await through(() => modelFolder('some/model'), 'me:p%40ss@');
      const { port } = new URL(hub.url);
      assert.ok(proxy.requests[0]!.startsWith(`GET http://hub.example:${port}/api/models/some/model/revision/main?`));
      assert.ok(proxy.requests.some((line) => line.startsWith('GET http://cdn.example:')));
      assert.equal(proxy.requests.length, hub.requests.length);
      assert.ok(proxy.requests.every((line) => line.endsWith(' me:p@ss')));
      assert.deepEqual(
        hub.requests.filter(({ range }) => range !== undefined).map(({ origin }) => origin),
        ['hub', 'cdn'],
      );
    });

    it('is requested through a tunnel if the hub uses TLS', async () => {
      process.env.HF_ENDPOINT = 'https://hub.example';
      await withVariables({ https_proxy: proxy.url }, () =>
        refused('HUB_FAULT', /cannot be reached through the proxy http:\/\/127\.0\.0\.1:\d+ of the environment \(/),
      );
      assert.equal(proxy.requests[0], 'CONNECT hub.example:443');
      proxy.refuses = 407;
      await withVariables({ https_proxy: proxy.url }, () => refused('HUB_FAULT', /\(the proxy answers 407\)/));
    });

    it('is downloaded directly from this machine, whatever the proxy variables say', async () => {
      hub.cdn = hub.cdn.replace('cdn.example', 'localhost');
      const dead = 'http://127.0.0.1:9';
      await withVariables({ http_proxy: dead, https_proxy: dead, all_proxy: dead }, () => modelFolder('some/model'));
      assert.deepEqual(proxy.requests, []);
    });
  });

  it('is downloaded further after an interruption', async () => {
    let cuts = 1;
    hub.send = (name, _request, response) => name === 'model.safetensors' && cuts-- > 0 && breakOff(response, 100_000);
    await modelFolder('some/model');
    const ranges = hub.requests.filter(({ origin }) => origin === 'cdn').map(({ range }) => range);
    assert.equal(ranges[0], undefined);
    assert.match(ranges[1]!, /^bytes=[1-9]\d*-$/);
    assert.ok(!blobs().some((name) => name.endsWith('.incomplete')));
  });

  it('is downloaded further after the process was killed', async () => {
    const digest = digestOf('model.safetensors', WEIGHTS);
    hub.send = (name, _request, response) => name === 'model.safetensors' && stall(response, 120_000);
    const child = download(place, hub.url);
    while (!blobs().some((name) => name.startsWith(digest))) await new Promise((settle) => setTimeout(settle, 50));
    await new Promise((settle) => setTimeout(settle, 300));
    child.kill('SIGKILL');
    await new Promise((settle) => child.on('close', settle));
    assert.ok(!existsSync(join(repository(), 'refs', 'main')));
    hub.send = () => false;
    const folder = await modelFolder('some/model');
    assert.match(hub.requests.filter(({ origin }) => origin === 'cdn').at(-1)!.range!, /^bytes=[1-9]\d*-$/);
    assert.deepEqual(readFileSync(join(folder, 'model.safetensors')), WEIGHTS);
    assert.ok(!blobs().some((name) => name.endsWith('.incomplete')));
  });

  it('is downloaded from the start if the server ignores the range', async () => {
    let first = true;
    hub.send = (name, _request, response) => {
      if (name !== 'model.safetensors') return false;
      if (first) {
        first = false;
        return breakOff(response, 50_000);
      }
      response.end(WEIGHTS);
      return true;
    };
    assert.deepEqual(readFileSync(join(await modelFolder('some/model'), 'model.safetensors')), WEIGHTS);
  });

  it('is refused and removed if its content has another digest or length', async () => {
    const wrong = Buffer.from(WEIGHTS);
    wrong[77]! ^= 1;
    for (const [content, message] of [
      [wrong, /model\.safetensors has digest [0-9a-f]{64}, the hub lists [0-9a-f]{64}$/],
      [Buffer.concat([WEIGHTS, WEIGHTS]), /model\.safetensors is longer than listed$/],
    ] as const) {
      hub.send = (name, _request, response) => name === 'model.safetensors' && Boolean(response.end(content));
      await refused('HUB_FAULT', message);
      assert.ok(!blobs().some((name) => name.startsWith(digestOf('model.safetensors', WEIGHTS))));
    }
    await rm(repository(), { recursive: true });
    hub.send = (name, _request, response) => name === 'tokenizer.json' && Boolean(response.end('[]'));
    await refused('HUB_FAULT', /tokenizer\.json has digest/);
  });

  it('is written only into its folder, whatever the hub lists', async () => {
    const bad = '../../evil /etc/evil a/../../evil sub/model.safetensors ..  config.json/../x C:\\x'.split(' ');
    hub.listing = (entries) => [
      ...bad.map((path) => ({ ...entries[0]!, path })),
      { ...entries[0]!, type: 'directory', path: 'model.safetensors' },
      { ...entries[0]!, type: 'symlink', path: 'chat_template.jinja' },
      ...entries,
    ];
    assert.deepEqual(readdirSync(await modelFolder('some/model')).sort(), Object.keys(FILES).sort());
    assert.deepEqual(readdirSync(place), ['hub']);
    assert.deepEqual(readdirSync(join(place, 'hub')), ['models--some--model']);
  });

  it('is refused if the listing is invalid or has impossible sizes', async () => {
    const change = (fields: object) => (entries: Entry[]) =>
      entries.map((entry) => (entry.path === 'model.safetensors' ? { ...entry, ...fields } : entry));
    const lfs = (oid: unknown) => ({ lfs: { oid, size: 1, pointerSize: 1 } });
    const cases: [(entries: Entry[]) => unknown, RegExp][] = [
      [change({ size: 2 ** 60 }), /invalid answer: it gives model\.safetensors no usable size$/],
      [change({ size: -1 }), /no usable size$/],
      [change({ size: '9' }), /no usable size$/],
      [change(lfs('../../../x')), /invalid answer: it gives model\.safetensors no digest$/],
      [change(lfs(7)), /no digest$/],
      [() => ({ text: 'no\nlist' }), /sent an invalid answer$/],
      [() => [null], /sent an invalid answer$/],
      [() => new Array(10_001).fill({ type: 'file', path: 'x', size: 1 }), /lists more than 10000 files$/],
      [() => 'x'.repeat(33 * 2 ** 20), /its answer is too long$/],
      [() => [], /no config\.json/],
    ];
    for (const [listing, message] of cases) {
      hub.listing = listing;
      await refused('HUB_FAULT', message);
    }
    hub.info = () => ({ sha: '../../x' });
    await refused('HUB_FAULT', /names no commit$/);
    hub.info = () => ({});
    hub.listing = change({ size: 2 ** 39 });
    await refused('BAD_MODEL', /^some\/model: needs 549\.8 GB, but .* are free in .*; set HF_HUB_CACHE/);
  });

  it('is refused in one line if the hub denies access, does not have it, or cannot be reached', async () => {
    process.env.HF_TOKEN = TOKEN;
    for (const status of [401, 403]) {
      hub.info = () => ({ status });
      await refused('BAD_MODEL', new RegExp(`answers ${status}: the model is gated, private or .* set HF_TOKEN, or`));
    }
    hub.info = () => ({ status: 404 });
    const absent = /^some\/model@v9: not in the Hugging Face cache .* has no such model or revision$/;
    await refused('BAD_MODEL', absent, 'some/model@v9');
    hub.info = () => ({ status: 503 });
    await refused('HUB_FAULT', /answers 503$/);
    process.env.HF_ENDPOINT = 'http://127.0.0.1:9';
    await refused('HUB_FAULT', /cannot be reached \(.+\); set HF_ENDPOINT to an address that can be, or name a folder/);
    process.env.HF_ENDPOINT = 'file:///etc';
    await assert.rejects(modelFolder('some/model'), { code: 'BAD_INPUT', message: /^HF_ENDPOINT: must be an address/ });
    process.env.HF_HUB_OFFLINE = '1';
    await refused(
      'BAD_MODEL',
      /^some\/model: not in the Hugging Face cache .*, and HF_HUB_OFFLINE forbids downloads; /,
    );
  });

  it('is not downloaded from another host, even if the listing names one', async () => {
    process.env.HF_TOKEN = TOKEN;
    hub.link = `<${hub.cdn}/next>; rel="next"`;
    await refused('HUB_FAULT', /it continues on another host$/);
    assert.ok(!hub.requests.some(({ origin }) => origin === 'cdn'));
  });

  it('is downloaded once by two processes and two callers at the same time', async () => {
    const children = [download(place, hub.url), download(place, hub.url)];
    const ends = children.map((child) => new Promise<number | null>((settle) => child.on('close', settle)));
    const [one, two] = await Promise.all([modelFolder('some/model'), modelFolder('some/model')]);
    assert.equal(one, two);
    assert.deepEqual(await Promise.all(ends), [0, 0]);
    assert.deepEqual(readFileSync(join(one, 'model.safetensors')), WEIGHTS);
    assert.equal(blobs().length, 3, blobs().join());
    assert.deepEqual(readdirSync(one).sort(), Object.keys(FILES).sort());
  });

  it('cannot be written to a full disk, and the error names the disk', async () => {
    await mkdir(join(place, 'hub'));
    await writeFile(repository(), 'a file');
    await refused('HUB_FAULT', /^some\/model: cannot be written to .* \(E[A-Z]+\)$/);
    const full = Object.assign(new Error('full'), { code: 'ENOSPC', syscall: 'write' }); // an open file keeps its name
    const { message } = asFault(full, { kind: 'model', id: 'some/model' }, 'some/model');
    assert.match(message, /^some\/model: cannot be written to .* \(ENOSPC\)$/);
  });
});

/** Sends a part, then closes the connection. */
function breakOff(response: ServerResponse, bytes: number): true {
  response.writeHead(200, { 'content-length': WEIGHTS.length });
  response.write(WEIGHTS.subarray(0, bytes), () => setTimeout(() => response.destroy(), 200));
  return true;
}

/** Sends a part, and then nothing. */
function stall(response: ServerResponse, bytes: number): true {
  response.writeHead(200, { 'content-length': WEIGHTS.length });
  response.write(WEIGHTS.subarray(0, bytes));
  return true;
}

function download(home: string, endpoint: string) {
  const module = import.meta.resolve('../../data/modelFolder.js');
  const program = `import { modelFolder } from ${JSON.stringify(module)}; await modelFolder('some/model');`;
  return spawn(process.execPath, [...NODE_FLAGS, '--input-type=module', '-e', program], {
    env: { ...process.env, HF_HOME: home, HF_ENDPOINT: endpoint },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

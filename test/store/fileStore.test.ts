import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { faultOf } from '../../store/checks.js';
import { openStore } from '../../store/openStore.js';
import { DIGEST, refusal, withStore } from './support.js';

const bytesOf = (text: string) => Buffer.from(text, 'utf8');
const sha = (text: string) => createHash('sha256').update(text).digest('hex');
const pathOf = (root: string, digest: string) => join(root, 'blobs', 'sha256', digest.slice(7, 9), digest.slice(9));

describe('file store: blobs', () => {
  it('stores a blob under its SHA-256 and returns it', () =>
    withStore(async (store, root) => {
      const digest = await store.putBlob(bytesOf('hello'));
      assert.equal(digest, `sha256:${sha('hello')}`);
      assert.equal(await readFile(pathOf(root, digest), 'utf8'), 'hello');
      assert.equal(Buffer.from(await store.getBlob(digest)).toString(), 'hello');
      assert.equal(await store.hasBlob(digest), true);
      assert.equal(await store.putBlob(bytesOf('hello')), digest);
    }));

  it('reports a missing blob as NOT_FOUND and a malformed digest as BAD_INPUT', () =>
    withStore(async (store) => {
      assert.equal(await store.hasBlob(DIGEST), false);
      await assert.rejects(store.getBlob(DIGEST), refusal('NOT_FOUND', DIGEST));
      for (const bad of ['', 'sha256:../../x', `sha256:${'A'.repeat(64)}`, `md5:${'0'.repeat(64)}`]) {
        await assert.rejects(store.getBlob(bad), refusal('BAD_INPUT', 'is not a digest'));
        await assert.rejects(store.hasBlob(bad), refusal('BAD_INPUT'));
        await assert.rejects(store.putMemo('key', bad), refusal('BAD_INPUT'));
      }
    }));

  it('reports a damaged blob as CORRUPT_ARTIFACT; putting the bytes again repairs it', () =>
    withStore(async (store, root) => {
      const digest = await store.putBlob(bytesOf('some bytes'));
      const path = pathOf(root, digest);
      for (const damage of [() => writeFile(path, 'some bytfs'), () => truncate(path, 3), () => truncate(path, 0)]) {
        await damage();
        await assert.rejects(store.getBlob(digest), refusal('CORRUPT_ARTIFACT', digest, path));
        await store.putBlob(bytesOf('some bytes'));
        assert.equal(Buffer.from(await store.getBlob(digest)).toString(), 'some bytes');
      }
    }));

  it('treats a damaged small blob as missing, but a damaged large one only when it is read', () =>
    withStore(async (store, root) => {
      for (const [size, isThere] of [
        [1000, false],
        [2_000_000, true],
      ] as const) {
        const digest = await store.putBlob(Buffer.alloc(size, 7));
        assert.equal(await store.hasBlob(digest), true);
        await writeFile(pathOf(root, digest), Buffer.alloc(size, 8));
        assert.equal(await store.hasBlob(digest), isThere);
        await assert.rejects(store.getBlob(digest), refusal(isThere ? 'CORRUPT_ARTIFACT' : 'NOT_FOUND', digest));
        assert.equal(await store.hasBlob(digest), false);
      }
      assert.equal((await readdir(join(root, 'quarantine'))).length, 2);
    }));

  it('keeps a blob that another process repairs between its read and its removal', () =>
    withStore(async (store, root) => {
      const digest = await store.putBlob(bytesOf('some bytes'));
      const { objects } = store;
      const move = objects.move.bind(objects);
      objects.move = async (from, to, durable) => {
        await (await openStore(root)).putBlob(bytesOf('some bytes'));
        return move(from, to, durable);
      };
      const asked = [
        async () => assert.equal(Buffer.from(await store.getBlob(digest)).toString(), 'some bytes'),
        async () => assert.equal(await store.hasBlob(digest), true),
      ];
      for (const ask of asked) {
        await writeFile(pathOf(root, digest), 'some bytfs');
        await ask();
        assert.equal(await readFile(pathOf(root, digest), 'utf8'), 'some bytes');
        assert.deepEqual(await readdir(join(root, 'quarantine')), []);
      }
    }));

  it('does not follow a link out of the store', () =>
    withStore(async (store, root) => {
      const outside = await mkdtemp(join(tmpdir(), 'gauntlet-outside-'));
      const digest = await store.putBlob(bytesOf('inside'));
      await rename(join(root, 'blobs'), join(outside, 'blobs'));
      await symlink(join(outside, 'blobs'), join(root, 'blobs'));
      await symlink(outside, join(root, 'memo'));
      const opened = await openStore(root);
      await assert.rejects(opened.getBlob(digest), refusal('BAD_INPUT', 'leads out of'));
      await assert.rejects(opened.hasBlob(digest), refusal('BAD_INPUT', 'leads out of'));
      await assert.rejects(opened.putBlob(bytesOf('inside')), refusal('BAD_INPUT', 'leads out of'));
      await assert.rejects(opened.putMemo('key', digest), refusal('BAD_INPUT', 'leads out of'));
      await assert.rejects(opened.getMemo('key'), refusal('BAD_INPUT', 'leads out of'));
      assert.deepEqual(await readdir(outside), ['blobs']);
      await rm(outside, { recursive: true });
    }));

  it('gives equal JSON values one digest, and refuses a blob that is not JSON', () =>
    withStore(async (store) => {
      const digest = await store.putJson({ b: [1, { d: 2, c: 3 }], a: null });
      assert.equal(await store.putJson({ a: null, b: [1, { c: 3, d: 2 }] }), digest);
      assert.deepEqual(await store.getJson(digest), { a: null, b: [1, { c: 3, d: 2 }] });
      const plain = await store.putBlob(bytesOf('not json'));
      await assert.rejects(store.getJson(plain), refusal('BAD_INPUT', plain, 'not JSON'));
    }));
});

describe('file store: memo table', () => {
  it('gives the second writer the digest of the first', () =>
    withStore(async (store) => {
      const [first, second] = [await store.putBlob(bytesOf('1')), await store.putBlob(bytesOf('2'))];
      assert.equal(await store.getMemo('key'), undefined);
      assert.equal(await store.putMemo('key', first), first);
      assert.equal(await store.putMemo('key', second), first);
      assert.equal(await store.getMemo('key'), first);
    }));

  it('gives fifty concurrent writers one digest', () =>
    withStore(async (store) => {
      const digests = Array.from({ length: 50 }, (_, i) => `sha256:${sha(String(i))}`);
      const given = await Promise.all(digests.map((digest) => store.putMemo('key', digest)));
      assert.equal(new Set(given).size, 1);
      assert.ok(digests.includes(given[0]!));
    }));

  it('reports a damaged row, or one renamed to another key, as CORRUPT_ARTIFACT with its path', () =>
    withStore(async (store, root) => {
      const path = join(root, 'memo', 'key');
      await store.putMemo('key', DIGEST);
      const good = await readFile(path, 'utf8');
      for (const bad of ['', good.replace(':0', ':1'), good.slice(0, -1), good.slice(0, 40), `${good}x`]) {
        await writeFile(path, bad);
        await assert.rejects(store.getMemo('key'), refusal('CORRUPT_ARTIFACT', path));
      }
      await writeFile(path, good);
      await rename(path, join(root, 'memo', 'other'));
      await assert.rejects(store.getMemo('other'), refusal('CORRUPT_ARTIFACT', 'other'));
    }));
});

describe('file store: files of runs', () => {
  it('writes, replaces, lists and removes files', () =>
    withStore(async (store) => {
      assert.deepEqual(await store.listRuns(), []);
      assert.equal(await store.readRunFile('r', 'a/b.json'), undefined);
      assert.deepEqual(await store.listRunFiles('r', 'a'), []);
      await store.writeRunFile('r', 'a/b.json', 'one');
      await store.writeRunFile('r', 'a/b.json', 'two');
      await store.writeRunFile('r', 'a/c/d.bin', Uint8Array.of(0, 255));
      await store.writeRunFile('q', 'top', '');
      assert.equal(Buffer.from((await store.readRunFile('r', 'a/b.json'))!).toString(), 'two');
      assert.deepEqual([...(await store.readRunFile('r', 'a/c/d.bin'))!], [0, 255]);
      assert.deepEqual(await store.listRunFiles('r', 'a'), ['a/b.json', 'a/c/d.bin']);
      assert.deepEqual(await store.listRunFiles('r', ''), ['a/b.json', 'a/c/d.bin']);
      assert.deepEqual(await store.listRunFiles('q', ''), ['top']);
      assert.deepEqual(await store.listRuns(), ['q', 'r']);
      await store.removeRunFile('r', 'a/b.json');
      await store.removeRunFile('r', 'a/b.json');
      await store.removeRunFile('none', 'a');
      assert.equal(await store.readRunFile('r', 'a/b.json'), undefined);
    }));

  it('lets exactly one of several creators of a file succeed', () =>
    withStore(async (store) => {
      const won = await Promise.all(Array.from({ length: 20 }, (_, i) => store.createRunFile('r', 'f', String(i))));
      assert.equal(won.filter(Boolean).length, 1);
      assert.equal(Buffer.from((await store.readRunFile('r', 'f'))!).toString(), String(won.indexOf(true)));
    }));

  it('refuses a run id or a path that leads out of the run', () =>
    withStore(async (store, root) => {
      for (const id of ['', '.', '..', '../r', 'a/b', 'a\\b', '/etc', 'a\0b', '.hidden', 'a b', 'x'.repeat(201)]) {
        await assert.rejects(store.writeRunFile(id, 'f', ''), refusal('BAD_INPUT', 'run id'), id);
        await assert.rejects(store.readRunFile(id, 'f'), refusal('BAD_INPUT'), id);
        await assert.rejects(store.listRunFiles(id, ''), refusal('BAD_INPUT'), id);
      }
      const paths = [
        '',
        '/',
        '/etc/passwd',
        '..',
        '../q/f',
        'a/../../f',
        'a//b',
        './f',
        'a/.',
        'a\\..\\b',
        'a\0',
        'x\n',
      ];
      for (const path of [...paths, 'y'.repeat(256)]) {
        await assert.rejects(store.writeRunFile('r', path, ''), refusal('BAD_INPUT', 'path'), path);
        await assert.rejects(store.createRunFile('r', path, ''), refusal('BAD_INPUT'), path);
        await assert.rejects(store.readRunFile('r', path), refusal('BAD_INPUT'), path);
        await assert.rejects(store.removeRunFile('r', path), refusal('BAD_INPUT'), path);
        if (path !== '') await assert.rejects(store.listRunFiles('r', path), refusal('BAD_INPUT'), path);
      }
      for (const key of ['', '../x', 'a/b', '.x'])
        await assert.rejects(store.getMemo(key), refusal('BAD_INPUT', 'memo'));
      assert.deepEqual(
        (await readdir(root)).filter((name) => name !== 'tmp'),
        [],
      );
      for (const id of ['first', 'nightly-2026-11-21T02:00:00Z', 'a.b_c@d=e+f']) await store.writeRunFile(id, 'f', '');
    }));

  it('does not follow a link out of a run and reports a file in place of a folder as BAD_INPUT', () =>
    withStore(async (store, root) => {
      const outside = join(root, 'outside');
      await mkdir(outside);
      await writeFile(join(outside, 'secret'), 'secret');
      await store.writeRunFile('r', 'f', '');
      await symlink(outside, join(root, 'runs', 'r', 'way'));
      await symlink(join(outside, 'secret'), join(root, 'runs', 'r', 'direct'));
      await assert.rejects(store.readRunFile('r', 'way/secret'), refusal('BAD_INPUT', 'leads out of'));
      await assert.rejects(store.writeRunFile('r', 'way/new', 'x'), refusal('BAD_INPUT', 'leads out of'));
      await assert.rejects(store.listRunFiles('r', 'way'), refusal('BAD_INPUT'));
      await assert.rejects(store.readRunFile('r', 'direct'), refusal('BAD_INPUT'));
      assert.deepEqual(await store.listRunFiles('r', ''), ['f']);
      assert.deepEqual(await readdir(outside), ['secret']);
      await assert.rejects(store.writeRunFile('r', 'f/below', ''), refusal('BAD_INPUT', 'in the way'));
      assert.equal(await store.readRunFile('r', 'f/below'), undefined);
    }));

  it('does not list, read or write a run that is a link out of the store', () =>
    withStore(async (store, root) => {
      const outside = await mkdtemp(join(tmpdir(), 'gauntlet-outside-'));
      await writeFile(join(outside, 'secret'), 'secret');
      await store.writeRunFile('r', 'f', 'x');
      for (const name of ['out', ' no id']) await symlink(outside, join(root, 'runs', name));
      await symlink(join(root, 'runs', 'r'), join(root, 'runs', 'same'));
      const opened = await openStore(root);
      assert.deepEqual(await opened.listRuns(), ['r', 'same']);
      assert.deepEqual(await opened.listRunFiles('same', ''), ['f']);
      const refused = refusal('BAD_INPUT', 'leads out of');
      await assert.rejects(opened.readRunFile('out', 'secret'), refused);
      await assert.rejects(opened.removeRunFile('out', 'secret'), refused);
      await assert.rejects(opened.listRunFiles('out', ''), refused);
      await assert.rejects(opened.writeRunFile('out', 'new', 'x'), refused);
      await assert.rejects(opened.createRunFile('out', 'new', 'x'), refused);
      assert.deepEqual(await readdir(outside), ['secret']);
      await rm(outside, { recursive: true });
    }));
});

describe('file store: locations, temporary files and faults', () => {
  it('opens a folder or its file: URL as the same store, and refuses other schemes', () =>
    withStore(async (store, root) => {
      const digest = await store.putBlob(bytesOf('x'));
      const again = await openStore(pathToFileURL(root).href);
      assert.equal(again.url, store.url);
      assert.equal(await again.hasBlob(digest), true);
      for (const bad of ['s3://bucket/x', 'file://other-host/x', 'http://localhost', '']) {
        await assert.rejects(openStore(bad), refusal('BAD_CONFIG', 'store'));
      }
    }));

  it('removes temporary files of dead writers and old ones when it opens', () =>
    withStore(async (_store, root) => {
      const host = hostname().replace(/[^A-Za-z0-9.-]/g, '-');
      const dead = (await promisify(execFile)(process.execPath, ['-p', 'process.pid'])).stdout.trim();
      const names = [`${host}~${dead}~a`, `${host}~${process.pid}~b`, 'elsewhere~1~c', 'elsewhere~1~old'];
      await mkdir(join(root, 'tmp'), { recursive: true });
      for (const name of names) await writeFile(join(root, 'tmp', name), 'half');
      const days = Date.now() / 1000 - 3 * 86_400;
      await utimes(join(root, 'tmp', 'elsewhere~1~old'), days, days);
      await openStore(root);
      assert.deepEqual((await readdir(join(root, 'tmp'))).sort(), [names[1]!, names[2]!].sort());
    }));

  it('leaves no temporary file, whether or not a write wins', () =>
    withStore(async (store, root) => {
      await store.putMemo('k', DIGEST);
      await store.putMemo('k', `sha256:${'1'.repeat(64)}`);
      await store.writeRunFile('r', 'f', 'x');
      await assert.rejects(store.writeRunFile('r', 'f/g', 'x'));
      assert.deepEqual(await readdir(join(root, 'tmp')), []);
    }));

  it('creates the store again if it is removed while the process runs', () =>
    withStore(async (store, root) => {
      await store.writeRunFile('r', 'f', 'x');
      await rm(root, { recursive: true });
      await store.putMemo('k', DIGEST);
      await rm(root, { recursive: true });
      await store.writeRunFile('r', 'f', 'x');
      assert.deepEqual(await store.listRunFiles('r', ''), ['f']);
    }));

  it('reports a short write as a retryable STORE_FAULT', () =>
    withStore(async (store, root) => {
      // A file size limit of 64 blocks stands in for a full disk: the write fails in the middle.
      const child = join(import.meta.dirname, 'child.js');
      const script = `ulimit -f 64; exec "${process.execPath}" "${child}" big "${root}"`;
      const { stdout } = await promisify(execFile)('sh', ['-c', script]);
      assert.equal(stdout.trim(), 'STORE_FAULT true');
      assert.deepEqual(await readdir(join(root, 'tmp')), []);
      assert.equal(
        await store.hasBlob(`sha256:${createHash('sha256').update(new Uint8Array(1_000_000)).digest('hex')}`),
        false,
      );
    }));

  it('reports a full or failing disk as a retryable STORE_FAULT and passes other errors on', () => {
    for (const code of ['ENOSPC', 'EIO', 'EROFS', 'EACCES', 'EDQUOT', 'EMFILE', 'ENODEV']) {
      const fault = faultOf(Object.assign(new Error('no such device'), { code }), 'writing', '/s/blob');
      assert.ok(refusal('STORE_FAULT', code, '/s/blob')(fault), code);
      assert.equal((fault as { retryable?: boolean }).retryable, true);
    }
    assert.ok(refusal('BAD_INPUT')(faultOf(Object.assign(new Error(), { code: 'EISDIR' }), 'reading', '/x')));
    const odd = new TypeError('a bug');
    assert.equal(faultOf(odd, 'reading', '/x'), odd);
  });
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { PLACE } from '../../infra/place.mjs';
import { faultOf } from '../../store/checks.js';
import { openStore } from '../../store/openStore.js';
import { temporaryFolder } from '../infra/support.js';
import { MEMORY_FOLDER } from '../support/memoryFolder.js';
import { CHILD, DIGEST, refusal, withStore } from './support.js';

const bytesOf = (text: string) => Buffer.from(text, 'utf8');

describe('links in a file store', () => {
  it('are not followed out of the store', () =>
    withStore(async (store, root) => {
      const outside = temporaryFolder({}, MEMORY_FOLDER);
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
    }));

  it('are not followed out of a run, and a file in place of a folder is BAD_INPUT', () =>
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

  it('are not listed, read or written as runs if they lead out of the store', () =>
    withStore(async (store, root) => {
      const outside = temporaryFolder({}, MEMORY_FOLDER);
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
    }));
});

describe('a file store with odd locations, temporary files or faults', () => {
  it('opens a folder or its file: URL as the same store, and refuses other schemes', () =>
    withStore(async (store, root) => {
      const digest = await store.putBlob(bytesOf('x'));
      const again = await openStore(pathToFileURL(root).href);
      assert.equal(again.locate(''), store.locate(''));
      assert.equal(await again.hasBlob(digest), true);
      for (const bad of ['gs://bucket/x', 'file://other-host/x', 'http://localhost', '']) {
        await assert.rejects(openStore(bad), refusal('BAD_CONFIG', 'store'));
      }
    }));

  it('removes temporary files of dead writers and old ones when it opens', () =>
    withStore(async (_store, root) => {
      const dead = (await promisify(execFile)(process.execPath, ['-p', 'process.pid'])).stdout.trim();
      const names = [`${PLACE}~${dead}~a`, `${PLACE}~${process.pid}~b`, `elsewhere~${dead}~c`, 'elsewhere~1~old'];
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
      // A file size limit of 64 blocks simulates a full disk: the write fails in the middle.
      const script = `ulimit -f 64; exec "${[process.execPath, ...CHILD, 'big', root].join('" "')}"`;
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

import assert from 'node:assert/strict';
import { copyStore } from '../../store/copy.js';
import { layout } from '../../store/layout.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { verifyStore } from '../../store/verify.js';
import { openMemoryStore } from '../support/memoryStore.js';
import { fillStore, refusal } from './support.js';

describe('copyStore', () => {
  const contents = async ({ objects }: ObjectStore): Promise<Record<string, string>> => {
    const all: Record<string, string> = {};
    for (const folder of ['blobs', 'memo', 'runs'])
      for (const name of (await objects.names(folder)).sort())
        all[`${folder}/${name}`] = Buffer.from((await objects.read(`${folder}/${name}`))!).toString('latin1');
    return all;
  };

  it('copies every file, skips what is there, and repairs what is damaged there', async () => {
    const [from, to] = [openMemoryStore(), openMemoryStore()];
    await fillStore(from);
    const first = await copyStore(from, to);
    const expected = await contents(from);
    assert.deepEqual(await contents(to), expected);
    assert.equal(first.files, Object.keys(expected).length);
    assert.deepEqual((await verifyStore(to)).findings, []);
    assert.deepEqual(await copyStore(from, to), { runs: 1, files: 0, bytes: 0, present: first.files });
    for (const path of Object.keys(expected)) {
      await to.objects.write(path, 'damaged', 'replace');
      if (!path.endsWith('manifest.json')) assert.equal((await copyStore(from, to)).files, 1, path);
      else {
        await assert.rejects(copyStore(from, to), refusal('CORRUPT_ARTIFACT', 'manifest.json')); // may be another run
        await to.objects.write(path, expected[path]!, 'replace');
      }
    }
    assert.deepEqual(await contents(to), expected);
  });

  it('leaves a run without a manifest if it is interrupted, and finishes it later', async () => {
    const [from, to] = [openMemoryStore(), openMemoryStore()];
    await fillStore(from);
    const { objects } = to;
    const write = objects.write.bind(objects);
    const total = Object.keys(await contents(from)).length;
    let left = 0;
    objects.write = async (...given) => {
      if (left-- <= 0) throw new Error('interrupted');
      return write(...given);
    };
    for (let files = 0; files < total - 8; ) {
      left = 7;
      await assert.rejects(copyStore(from, to), /interrupted/);
      files = Object.keys(await contents(to)).length;
      assert.equal(await to.readRunFile('r', 'manifest.json'), undefined);
    }
    objects.write = write;
    await copyStore(from, to);
    assert.deepEqual(await contents(to), await contents(from));
  });

  it('refuses a damaged file and another run with the same id', async () => {
    const [from, to] = [openMemoryStore(), openMemoryStore()];
    await fillStore(from);
    await fillStore(to, 1);
    await assert.rejects(copyStore(from, to), refusal('RUN_EXISTS', 'r'));
    const digest = await from.putBlob(Buffer.from('x'));
    await from.objects.write(layout.blob(digest), 'y', 'replace');
    await assert.rejects(copyStore(from, openMemoryStore()), refusal('CORRUPT_ARTIFACT', digest.slice(9)));
  });
});

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { commitCheckpoint } from '../../store/checkpoints.js';
import { copyStore } from '../../store/copy.js';
import { layout } from '../../store/layout.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { createRun, writeAttention, writeReport } from '../../store/runs.js';
import { verifyStore } from '../../store/verify.js';
import { openMemoryStore } from '../support/memoryStore.js';
import { DIGEST, fillStore, refusal, sampleConfig, sampleFacts, sampleFiles } from './support.js';

describe('copyStore', () => {
  const contents = async ({ objects }: ObjectStore): Promise<Record<string, string>> => {
    const all: Record<string, string> = {};
    for (const folder of ['blobs', 'memo', 'runs'])
      for (const name of (await objects.names(folder)).sort())
        all[`${folder}/${name}`] = Buffer.from((await objects.read(`${folder}/${name}`))!).toString('latin1');
    return all;
  };

  it('copies every file, skips existing ones, and repairs damaged ones', async () => {
    const [from, to] = [openMemoryStore(), openMemoryStore()];
    await fillStore(from);
    const first = await copyStore(from, to);
    const expected = await contents(from);
    assert.deepEqual(await contents(to), expected);
    const isPointer = (path: string): boolean => /\/checkpoint_(best|latest)$/.test(path);
    assert.equal(first.files, Object.keys(expected).filter((path) => !isPointer(path)).length);
    assert.deepEqual((await verifyStore(to)).findings, []);
    assert.deepEqual(await copyStore(from, to), { runs: 1, files: 0, bytes: 0, present: first.files });
    for (const path of Object.keys(expected)) {
      await to.objects.write(path, 'damaged', 'replace');
      if (!path.endsWith('manifest.json'))
        assert.equal((await copyStore(from, to)).files, isPointer(path) ? 0 : 1, path);
      else {
        await assert.rejects(copyStore(from, to), refusal('CORRUPT_ARTIFACT', 'manifest.json')); // this may be another run
        await to.objects.write(path, expected[path]!, 'replace');
      }
    }
    assert.deepEqual(await contents(to), expected);
  });

  it('keeps newer files of the other store, and copies missing ones', async () => {
    const [ours, backup] = [openMemoryStore(), openMemoryStore()];
    await fillStore(ours);
    await copyStore(ours, backup);
    await sleep(5); // times are in milliseconds
    await writeReport(ours, 'r', '<html>later</html>');
    await commitCheckpoint(ours, 'r', sampleFacts({ epoch: 2, step: 8, score: 0.9 }), sampleFiles(2));
    await commitCheckpoint(ours, 'r', sampleFacts({ score: 0.4 }), sampleFiles(3)); // replaces the pointer of the backup
    const expected = await contents(ours);
    const lost = (await ours.listRunFiles('r', 'metrics'))[0]!;
    await ours.removeRunFile('r', lost);
    const { files } = await copyStore(backup, ours);
    assert.equal(files, 1);
    assert.deepEqual(await contents(ours), expected);
    await copyStore(ours, backup);
    assert.deepEqual(await contents(backup), expected);
    assert.deepEqual((await verifyStore(backup)).findings, []);
  });

  it('copies the run that was started last at the end', async () => {
    const [from, to] = [openMemoryStore(), openMemoryStore()];
    const facts = { config: sampleConfig(), modelDigest: DIGEST, dataDigest: DIGEST, codeVersion: '1' };
    for (const run of ['b', 'a']) {
      await createRun(from, run, facts);
      await sleep(5);
    }
    const written: string[] = [];
    const write = to.objects.write.bind(to.objects);
    to.objects.write = async (path, ...given) => {
      written.push(path);
      return write(path, ...given);
    };
    await copyStore(from, to);
    const manifests = written.filter((path) => /^runs\/.\/manifest.json$/.test(path));
    assert.deepEqual(manifests, ['runs/b/manifest.json', 'runs/a/manifest.json']);
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

  it('leaves out what runs need now, and runs that failed before they were prepared', async () => {
    const [from, to] = [openMemoryStore(), openMemoryStore()];
    await fillStore(to);
    const failure = { activity: 'prepareRun', code: 'BAD_CONFIG', message: 'seed: -1', inStep: false };
    for (const runId of ['r', 'other'])
      await writeAttention(from, runId, { runId, state: 'failed', failure, step: 0, totalSteps: 0 });
    const before = await contents(to);
    assert.deepEqual(await copyStore(from, to), { runs: 0, files: 0, bytes: 0, present: 0 });
    assert.deepEqual(await contents(to), before);
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

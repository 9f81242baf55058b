import assert from 'node:assert/strict';
import { readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson, digestJson } from '../../store/canonicalJson.js';
import {
  bestCheckpoint,
  CHECKPOINT_FILES,
  commitCheckpoint,
  listCheckpoints,
  loadCheckpoint,
  readPointer,
  verifyCheckpoints,
} from '../../store/checkpoints.js';
import { createRun } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import { verifyStore } from '../../store/verify.js';
import { openMemoryStore } from '../support/memoryStore.js';
import { DIGEST, refusal, sampleConfig, sampleFacts, sampleFiles, withStore } from './support.js';

const NAME = 'checkpoint_stage_1_epoch_1';
const commit = (store: Store, change: Parameters<typeof sampleFacts>[0] = {}, fill = 1) =>
  commitCheckpoint(store, 'r', sampleFacts(change), sampleFiles(fill));

const RUN_FACTS = { modelDigest: DIGEST, dataDigest: DIGEST, codeVersion: '0.1.0' };

/** A store in which writes to runs fail permanently from a given write on. */
function cutOff(store: Store, write: number, after: boolean): Store {
  let count = 0;
  const cut: Store = Object.create(store);
  for (const name of ['writeRunFile', 'createRunFile'] as const)
    cut[name] = async (...given: unknown[]) => {
      const at = count++;
      if (at > write || (at === write && !after)) throw new Error('killed');
      const result = await (store[name] as (...given: unknown[]) => Promise<never>)(...given);
      if (at === write) throw new Error('killed');
      return result;
    };
  return cut;
}

describe('checkpoints', () => {
  it('have PEFT’s layout, and load with every byte', () =>
    withStore(async (store, root) => {
      const metadata = await commit(store);
      assert.equal(metadata.name, NAME);
      const folder = join(root, 'runs', 'r', 'checkpoints', NAME);
      for (const role of ['generator', 'discriminator']) {
        for (const file of ['adapter_config.json', 'adapter_model.safetensors'])
          await readFile(join(folder, role, file));
      }
      const loaded = await loadCheckpoint(store, 'r', NAME);
      assert.deepEqual(loaded.metadata, metadata);
      assert.deepEqual([...loaded.files.keys()].sort(), Object.values(CHECKPOINT_FILES).sort());
      for (const [path, bytes] of sampleFiles())
        assert.deepEqual(Buffer.from(loaded.files.get(path)!), Buffer.from(bytes));
    }));

  it('change no byte when the same checkpoint is written twice', () =>
    withStore(async (store) => {
      const first = await commit(store);
      const before = await snapshot(store);
      assert.deepEqual(await commit(store), first);
      assert.deepEqual(await snapshot(store), before);
    }));

  it('replace a different or damaged checkpoint with the same name', () =>
    withStore(async (store, root) => {
      await commit(store, {}, 1);
      const second = await commit(store, { score: 0.6 }, 2);
      assert.deepEqual((await loadCheckpoint(store, 'r', NAME)).metadata, second);
      const { name, score } = (await readPointer(store, 'r', 'checkpoint_best'))!;
      assert.deepEqual({ name, score }, { name: NAME, score: 0.6 });
      await truncate(join(root, 'runs/r/checkpoints', NAME, 'archive.json'), 0);
      await assert.rejects(loadCheckpoint(store, 'r', NAME), refusal('BAD_CHECKPOINT'));
      await commit(store, { score: 0.6 }, 2);
      await loadCheckpoint(store, 'r', NAME);
    }));

  it('are complete after a kill at any write and a second attempt', () =>
    withStore(async (store) => {
      await createRun(store, 'r', { ...RUN_FACTS, config: sampleConfig() });
      const files = new Map([...sampleFiles()].slice(0, 2));
      const write = (to: Store, epoch: number) =>
        commitCheckpoint(to, 'r', sampleFacts({ epoch, score: epoch }), files);
      let cut = 0;
      for (let done = false; !done; cut++) {
        for (const after of [false, true]) {
          const epoch = 2 * cut + Number(after) + 1;
          done = await write(cutOff(store, cut, after), epoch).then(
            () => true,
            () => false,
          );
          await write(store, epoch);
          const { findings } = await verifyStore(store, 'r');
          assert.deepEqual(
            findings.filter(({ name }) => name !== DIGEST), // the problem set of the run is missing
            [],
            `write ${cut}, ${after ? 'after' : 'before'} it`,
          );
        }
      }
      assert.ok(cut > 6, 'two files, the metadata, its digest, two pointers');
    }));

  it('are both kept if a delayed writer goes on after their commit and is killed at any operation', async () => {
    const store = openMemoryStore();
    const files = new Map([...sampleFiles()].slice(0, 2));
    const write = (to: Store, runId: string, epoch: number) =>
      commitCheckpoint(to, runId, sampleFacts({ epoch, step: epoch }), files);
    const operations = ['readRunFile', 'writeRunFile', 'createRunFile', 'removeRunFile', 'listRunFiles'] as const;
    let pausedAt = 0;
    for (let wasPaused = true; wasPaused; pausedAt++) {
      for (const lives of [1, 2, Number.POSITIVE_INFINITY]) {
        const runId = `zombie-${pausedAt}-${lives}`;
        await createRun(store, runId, { ...RUN_FACTS, config: sampleConfig() });
        let count = 0;
        const zombie: Store = Object.create(store);
        for (const name of operations)
          zombie[name] = async (...given: unknown[]) => {
            if (count === pausedAt) for (const epoch of [1, 2]) await write(store, runId, epoch);
            if (count++ >= pausedAt + lives) throw new Error('killed');
            return (store[name] as (...given: unknown[]) => Promise<never>)(...given);
          };
        await write(zombie, runId, 1).catch(() => undefined);
        wasPaused = count > pausedAt;
        if (!wasPaused) break;
        const at = `paused at operation ${pausedAt}, killed ${lives} later`;
        const { findings } = await verifyStore(store, runId);
        assert.deepEqual(
          findings.filter(({ name }) => name !== DIGEST),
          [],
          at,
        );
        assert.equal((await listCheckpoints(store, runId)).length, 2, at);
        if (Number.isFinite(lives)) continue; // the next writer moves the pointer back
        assert.equal((await loadCheckpoint(store, runId, 'latest')).metadata.name, 'checkpoint_stage_1_epoch_2', at);
      }
    }
    assert.ok(pausedAt > 15, `${pausedAt} operations`);
  }).timeout(60_000);

  it('have a best pointer to the highest score, or to the earliest of equal scores, in any order of writing', () =>
    withStore(async (store) => {
      const facts = [
        { stage: 1, epoch: 1, step: 4, score: 0.5 },
        { stage: 1, epoch: 2, step: 8, score: 0.8 },
        { stage: 2, epoch: 1, step: 12, score: 0.8 },
        { stage: 2, epoch: 10, step: 60, score: 0.7 },
        { stage: 2, epoch: 9, step: 56, score: 0.1 },
      ];
      for (const order of [facts, [...facts].reverse()]) {
        for (const change of order) await commit(store, change);
        const all = await listCheckpoints(store, 'r');
        assert.deepEqual(
          all.map((metadata) => metadata.step),
          [4, 8, 12, 56, 60],
        );
        assert.equal(bestCheckpoint(all)?.name, 'checkpoint_stage_1_epoch_2');
        assert.equal((await loadCheckpoint(store, 'r', 'best')).metadata.name, 'checkpoint_stage_1_epoch_2');
        assert.equal((await loadCheckpoint(store, 'r', 'latest')).metadata.name, 'checkpoint_stage_2_epoch_10');
      }
      assert.equal(bestCheckpoint([]), undefined);
    }));

  it('do not exist without metadata', () =>
    withStore(async (store) => {
      await store.writeRunFile('r', `checkpoints/${NAME}/generator/adapter_config.json`, '{}');
      assert.deepEqual(await listCheckpoints(store, 'r'), []);
      await assert.rejects(loadCheckpoint(store, 'r', NAME), refusal('NOT_FOUND', NAME));
      await assert.rejects(loadCheckpoint(store, 'r', 'best'), refusal('NOT_FOUND', 'no checkpoint'));
      const reports = await verifyCheckpoints(store, 'r');
      assert.deepEqual(
        reports.map(({ name, committed }) => ({ name, committed })),
        [{ name: NAME, committed: false }],
      );
      await assert.rejects(loadCheckpoint(store, 'r', '../../../etc'), refusal('BAD_INPUT'));
    }));

  it('name the nearest checkpoint if one was removed', () =>
    withStore(async (store, root) => {
      const name = (stage: number, epoch: number): string => `checkpoint_stage_${stage}_epoch_${epoch}`;
      for (const [step, epoch] of [2, 4, 6].entries()) await commit(store, { epoch, step });
      const none = (asked: string, near: string) =>
        assert.rejects(
          loadCheckpoint(store, 'r', asked),
          refusal(
            'NOT_FOUND',
            `no checkpoint ${asked}; the nearest is ${near}; list them with \`gauntlet checkpoints list r\``,
          ),
        );
      for (const folder of ['checkpoints', 'digests/checkpoints'])
        await rm(join(root, 'runs/r', folder, name(1, 4)), { recursive: true });
      await none(name(1, 4), name(1, 2));
      await none(name(1, 1), name(1, 2));
      await none(name(3, 1), name(1, 6));
      await assert.rejects(
        loadCheckpoint(store, 'r', 'checkpoint_stage_x'),
        refusal('NOT_FOUND', 'checkpoint_stage_x; list them'),
      );
    }));

  it('pass verification if they are intact', () =>
    withStore(async (store) => {
      await commit(store);
      await commit(store, { epoch: 2, step: 8 });
      const reports = await verifyCheckpoints(store, 'r');
      assert.deepEqual(
        reports.map((report) => report.name),
        [NAME, 'checkpoint_stage_1_epoch_2', 'checkpoint_best', 'checkpoint_latest'],
      );
      assert.ok(reports.every((report) => report.committed && report.problems.length === 0));
      assert.deepEqual(await verifyCheckpoints(store, 'nobody'), []);
    }));

  for (const file of [...Object.values(CHECKPOINT_FILES), 'metadata.json']) {
    it(`are refused if ${file} is flipped, truncated, extended or deleted, and the error names the file`, () =>
      withStore(async (store, root) => {
        await commit(store);
        await commit(store, { epoch: 2, step: 8, score: 0.1 });
        const path = join(root, 'runs/r/checkpoints', NAME, file);
        const good = await readFile(path);
        const at = Math.floor(good.length / 2);
        const flipped = Buffer.from(good);
        flipped[at] = flipped[at]! ^ 1;
        const damages = [
          flipped,
          good.subarray(0, good.length - 1),
          good.subarray(0, 0),
          Buffer.concat([good, Buffer.from(' ')]),
        ];
        for (const damage of [...damages, undefined]) {
          if (damage === undefined) await rm(path);
          else await writeFile(path, damage);
          await assert.rejects(loadCheckpoint(store, 'r', 'best'), refusal('BAD_CHECKPOINT', NAME, file));
          const bad = (await verifyCheckpoints(store, 'r')).filter((report) => report.name === NAME);
          assert.equal(bad.length, 1);
          assert.equal(bad[0]!.problems.length, 1);
          assert.ok(bad[0]!.problems[0]!.startsWith(file), bad[0]!.problems[0]);
          await loadCheckpoint(store, 'r', 'checkpoint_stage_1_epoch_2'); // the other checkpoint is unchanged
        }
      }));
  }

  it('detect every flipped byte of metadata.json', () =>
    withStore(async (store, root) => {
      await commit(store);
      const path = join(root, 'runs/r/checkpoints', NAME, 'metadata.json');
      const good = await readFile(path);
      for (let at = 0; at < good.length; at += 7) {
        const bad = Buffer.from(good);
        bad[at] = bad[at]! ^ 4;
        await writeFile(path, bad);
        await assert.rejects(
          loadCheckpoint(store, 'r', NAME),
          refusal('BAD_CHECKPOINT', 'metadata.json'),
          `byte ${at}`,
        );
      }
    }));

  it('are refused if they belong to another run or name', () =>
    withStore(async (store, root) => {
      await commit(store);
      const metadata = await readFile(join(root, 'runs/r/checkpoints', NAME, 'metadata.json'));
      await store.writeRunFile('r', 'checkpoints/checkpoint_stage_1_epoch_2/metadata.json', metadata);
      await assert.rejects(
        loadCheckpoint(store, 'r', 'checkpoint_stage_1_epoch_2'),
        refusal('BAD_CHECKPOINT', 'belongs to checkpoint_stage_1_epoch_1'),
      );
    }));

  it('report damaged, dangling and missing pointers', () =>
    withStore(async (store, root) => {
      await commit(store);
      const problems = async () =>
        (await verifyCheckpoints(store, 'r'))
          .filter((r) => r.problems.length > 0)
          .map((r) => [r.name, ...r.problems].join(' '));
      const path = join(root, 'runs/r/checkpoints/checkpoint_best');
      await writeFile(path, '{"name":');
      await assert.rejects(loadCheckpoint(store, 'r', 'best'), refusal('BAD_CHECKPOINT', 'checkpoint_best is damaged'));
      assert.deepEqual(await problems(), ['checkpoint_best is damaged']);
      const target = { name: 'checkpoint_stage_5_epoch_9', score: 1 };
      const digest = digestJson({ runId: 'r', pointer: 'checkpoint_best', ...target });
      await writeFile(path, `${canonicalJson({ ...target, digest }, 2)}\n`);
      await assert.rejects(loadCheckpoint(store, 'r', 'best'), refusal('BAD_CHECKPOINT', 'checkpoint_stage_5_epoch_9'));
      assert.match((await problems())[0]!, /^checkpoint_best names checkpoint_stage_5_epoch_9/);
      await rm(path);
      assert.deepEqual(await problems(), ['checkpoint_best is missing']);
      await commit(store); // repairs the pointer
      assert.deepEqual(await problems(), []);
    }));

  it('refuse metadata.json among the files of the caller', () =>
    withStore(async (store) => {
      const files = new Map([['metadata.json', new Uint8Array(1)]]);
      await assert.rejects(commitCheckpoint(store, 'r', sampleFacts(), files), refusal('BAD_INPUT', 'metadata.json'));
      assert.deepEqual(await listCheckpoints(store, 'r'), []);
    }));
});

async function snapshot(store: Store): Promise<[string, string][]> {
  const paths = await store.listRunFiles('r', '');
  return Promise.all(
    paths.map(
      async (path): Promise<[string, string]> => [
        path,
        Buffer.from((await store.readRunFile('r', path))!).toString('base64'),
      ],
    ),
  );
}

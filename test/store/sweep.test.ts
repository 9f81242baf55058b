import assert from 'node:assert/strict';
import { readdir, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { createActivities } from '../../activities/index.js';
import { digestJson } from '../../store/canonicalJson.js';
import { loadCheckpoint } from '../../store/checkpoints.js';
import { layout } from '../../store/layout.js';
import { memoised, memoKey } from '../../store/memo.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { openStore } from '../../store/openStore.js';
import { UPDATES } from '../../store/runs.js';
import { sweep } from '../../store/sweep.js';
import { verifyStore } from '../../store/verify.js';
import { doubles, TINIEST_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { withStore } from './support.js';

const DAY = 86_400_000;
const NOW = Date.now();
const options = { keepFrom: NOW - DAY, open: new Set<string>(), dryRun: false };

/** Sets the last use of every file in the store, or of one file, to a time long ago. */
async function age(root: string, path = '', days = 30): Promise<void> {
  const then = new Date(NOW - days * DAY);
  if (path !== '') return utimes(join(root, path), then, then);
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) await utimes(join(entry.parentPath, entry.name), then, then);
}

const blobOf = (digest: string) => `blobs/sha256/${digest.slice(7, 9)}/${digest.slice(9)}`;
const has = async (store: ObjectStore, digest: string) => (await store.objects.use(layout.blob(digest))) !== undefined;

describe('a sweep of a store', () => {
  it('keeps exactly the objects that a run, a recent row or a recent artifact refers to, in any graph of references', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            refs: fc.array(fc.nat(30), { maxLength: 3 }),
            root: fc.constantFrom('none', 'none', 'none', 'run', 'row', 'record', 'young'),
          }),
          { minLength: 1, maxLength: 14 },
        ),
        async (nodes) =>
          withStore(async (store, root) => {
            const digests: string[] = [];
            const reach = new Set<string>();
            for (const [i, { refs }] of nodes.entries()) {
              const to = i === 0 ? [] : refs.map((ref) => digests[ref % i]!);
              digests.push(await store.putJson({ i, deep: [{ to }] }));
            }
            for (const [i, { root: kind }] of nodes.entries()) {
              const digest = digests[i]!;
              if (kind === 'run') await store.writeRunFile('r', `metrics/${i}.json`, JSON.stringify({ digest }));
              if (kind === 'row') await store.putMemo(`row-${i}`, digest);
              else if (kind === 'record') await store.putMemo(`row-${i}.inputs`, digest);
              else await store.putMemo(`old-${i}`, digest);
            }
            await age(root);
            for (const [i, { root: kind }] of nodes.entries()) {
              if (kind === 'row') await store.objects.touch(`memo/row-${i}`);
              if (kind === 'record') await store.objects.touch(`memo/row-${i}.inputs`);
              if (kind === 'young') await store.hasBlob(digests[i]!);
            }
            const mark = (i: number): void => {
              if (reach.has(digests[i]!)) return;
              reach.add(digests[i]!);
              if (i > 0) for (const ref of nodes[i]!.refs) mark(ref % i);
            };
            nodes.forEach(({ root: kind }, i) => {
              if (kind !== 'none') mark(i);
            });
            const foreseen = await sweep(store, { ...options, dryRun: true });
            for (const digest of digests) assert.equal(await has(store, digest), true);
            const swept = await sweep(store, options);
            assert.deepEqual(swept, foreseen);
            for (const digest of digests) assert.equal(await has(store, digest), reach.has(digest));
            const rows = nodes.flatMap(({ root: kind }, i) =>
              kind === 'row' ? [`row-${i}`] : kind === 'record' ? [`row-${i}.inputs`] : [],
            );
            assert.deepEqual(await store.memoKeys(), rows.sort());
            assert.equal(swept.blobs.files, digests.length - reach.size);
          }),
      ),
      { numRuns: 25 },
    ));

  it('reads only the beginning of large artifacts that are not JSON', () =>
    withStore(async (store) => {
      const part = await store.putJson('part');
      const adapter = await store.putBlob(new Uint8Array(100_000));
      const index = await store.putJson({ part, adapter, padding: 'x'.repeat(100_000) });
      await age(store.locate(''));
      await store.hasBlob(index);
      const whole: string[] = [];
      const { objects } = store;
      const read = objects.read.bind(objects);
      objects.read = (key, length) => {
        if (length === undefined) whole.push(key);
        return read(key, length);
      };
      await sweep(store, options);
      assert.deepEqual(whole, [index, part].map(layout.blob));
      for (const digest of [part, adapter]) assert.equal(await has(store, digest), true);
    }));

  it('allows recomputation of a row without artifacts, with the same digest', () =>
    withStore(async (store, root) => {
      const work = async () => ({ part: await store.putJson('part') });
      const context = { store, name: 'n', version: 1 };
      const { output } = await memoised(context, {}, work);
      await age(root);
      await store.getMemo(memoKey('n', 1, {})); // only the row was used recently
      for (const digest of [output.part, digestJson(output)]) await rm(join(root, blobOf(digest)));
      await sweep(store, options);
      assert.deepEqual((await memoised(context, {}, work)).output, output);
      assert.equal(await store.getJson(output.part), 'part');
    }));

  it('removes old files of updates that no run continues', () =>
    withStore(async (store, root) => {
      const file = `${UPDATES}/key.state-1`;
      for (const run of ['ended', 'open', 'recent']) await store.writeRunFile(run, file, 'state');
      for (const run of ['ended', 'open']) await age(root, `runs/${run}/${file}`);
      const { leftovers, paths } = await sweep(store, { ...options, open: new Set(['open']) });
      assert.deepEqual([leftovers.files, paths], [1, [`runs/ended/${file}`]]);
      assert.equal(await store.readRunFile('ended', file), undefined);
      for (const run of ['open', 'recent']) assert.ok(await store.readRunFile(run, file));
    }));

  it('does not change the result of a run that continues meanwhile', async () => {
    const [quiet, world] = [await doubles(), await doubles()];
    try {
      const expected = await runPipeline(createActivities(quiet.deps), 'run', TINIEST_RUN);
      await runPipeline(createActivities(world.deps), 'earlier', { ...TINIEST_RUN, seed: 9 });
      await age(world.folder);
      const store = await openStore(world.folder);
      const start = Date.now() - 1000;
      let going = true;
      let freed = 0;
      const sweeping = (async () => {
        while (going) freed += (await sweep(store, { ...options, keepFrom: start })).bytes;
      })();
      const result = await runPipeline(createActivities(world.deps), 'run', TINIEST_RUN);
      going = false;
      await sweeping;
      assert.deepEqual(result.digests, expected.digests);
      assert.ok(freed > 0);
      assert.deepEqual((await verifyStore(store)).findings, []);
      for (const run of ['run', 'earlier']) await loadCheckpoint(store, run, 'best');
    } finally {
      for (const { folder } of [quiet, world]) await rm(folder, { recursive: true, force: true });
    }
  });

  it('allows recomputation of a run after it removed the rows of the run', async () => {
    const world = await doubles();
    const acts = createActivities(world.deps);
    const first = await runPipeline(acts, 'run', TINIEST_RUN);
    await age(world.folder);
    const store = await openStore(world.folder);
    const { memos, blobs } = await sweep(store, options);
    assert.ok(memos.files > 40 && blobs.files > 20, `${memos.files} ${blobs.files}`);
    assert.deepEqual((await verifyStore(store)).findings, []);
    const again = await runPipeline(acts, 'run', TINIEST_RUN);
    assert.deepEqual(again.digests, first.digests);
  });
});

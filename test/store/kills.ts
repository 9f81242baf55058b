// A test that kills a writer of a store at random moments.
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RandomStream } from '../../core/base/random.js';
import { listCheckpoints, loadCheckpoint, verifyCheckpoints } from '../../store/checkpoints.js';
import { openStore } from '../../store/openStore.js';
import { readMetrics } from '../../store/runs.js';
import { LARGE, startChild, withStore } from './support.js';

export function testKills(moments: number): void {
  it(`leaves no partial file and keeps every finished write after SIGKILL at ${moments} random moments`, () =>
    withStore(async (_store, root) => {
      const random = new RandomStream('crash', 1);
      const said: string[] = [];
      for (let round = 0; round < moments; round++) {
        const { child, done, lines } = startChild('everything', root, String(round));
        const awaited = random.int(1, 6);
        while (lines().length < awaited) await sleep(2);
        await sleep(random.int(0, 20));
        child.kill('SIGKILL');
        assert.equal(await done, 'SIGKILL');
        said.push(...lines());

        const store = await openStore(root); // removes files that the killed writer left
        assert.deepEqual(await readdir(join(root, 'tmp')), []);
        const reports = await verifyCheckpoints(store, 'run');
        assert.deepEqual(
          reports.filter((report) => report.committed && report.problems.length > 0 && !isPointer(report)),
          [],
        );
        for (const { name } of await listCheckpoints(store, 'run')) await loadCheckpoint(store, 'run', name);
        await readMetrics(store, 'run'); // every file parses
        for (const path of await store.listRunFiles('run', 'large')) {
          const bytes = Buffer.from((await store.readRunFile('run', path))!);
          assert.equal(bytes.length, LARGE, path);
          assert.ok(bytes.equals(Buffer.alloc(LARGE, bytes[0])), path);
        }
        for (const blob of await blobs(root)) await store.getBlob(blob); // every blob is complete
      }
      const store = await openStore(root);
      assert.ok(said.length > 2 * moments, `only ${said.length} writes were seen`);
      const steps = new Set((await readMetrics(store, 'run')).map(({ step }) => step));
      for (const line of said) {
        const [kind, name, digest] = line.split(' ');
        if (kind === 'blob') await store.getBlob(name!);
        if (kind === 'memo') assert.equal(await store.getMemo(name!), digest);
        if (kind === 'metrics') assert.ok(steps.has(Number(name) + 1));
      }
    }));
}

async function blobs(root: string): Promise<string[]> {
  const paths = await readdir(join(root, 'blobs/sha256'), { recursive: true });
  return paths.filter((path) => path.includes('/')).map((path) => `sha256:${path.replace('/', '')}`);
}

/** Pointers move after a checkpoint is written, so a kill in between leaves the older target, or none. */
function isPointer(report: { name: string }): boolean {
  return report.name === 'checkpoint_best' || report.name === 'checkpoint_latest';
}

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import { MetricsReader } from '../../dashboard/data/metricsReader.js';
import { ObjectStore } from '../../store/objectStore.js';
import { openStore } from '../../store/openStore.js';
import { writeMetrics } from '../../store/runs.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

/** Records which metrics are read. */
class CountingStore extends ObjectStore {
  readonly read: string[] = [];

  override readRunFile(runId: string, path: string): Promise<Uint8Array | undefined> {
    if (path.startsWith('metrics/')) this.read.push(path);
    return super.readRunFile(runId, path);
  }
}

describe('the reader of metrics', () => {
  let world: Doubles;
  let store: CountingStore;
  let reader: MetricsReader;

  beforeEach(async () => {
    world = await doubles();
    await runPipeline(createActivities(world.deps), 'run', SMALL_RUN);
    store = new CountingStore((await openStore(world.folder)).objects);
    reader = new MetricsReader(store);
  });

  it('reads a file again only when it has changed', async () => {
    const first = await reader.read('run');
    assert.equal(store.read.length, first.length);
    store.read.length = 0;
    assert.deepEqual(await reader.read('run'), first);
    assert.deepEqual(store.read, []);

    const last = first.findLast((record): record is StepMetrics => record.kind === 'step')!;
    await writeMetrics(world.deps.store, 'run', last.step, { ...last, reward: 0.25 });
    await writeMetrics(world.deps.store, 'run', last.step + 1, { ...last, step: last.step + 1 });
    const then = await reader.read('run');
    assert.deepEqual(store.read.sort(), [`metrics/${last.step}.json`, `metrics/${last.step + 1}.json`]);
    assert.equal(then.length, first.length + 1);
    assert.deepEqual(
      then
        .filter((record) => record.kind === 'step')
        .map(({ step, reward }) => [step, reward])
        .slice(-2),
      [
        [last.step, 0.25],
        [last.step + 1, last.reward],
      ],
    );
  });

  it('reports a file that is damaged after it was read', async () => {
    await reader.read('run');
    await writeFile(join(world.folder, 'runs/run/metrics/1.json'), '{}\n');
    await assert.rejects(reader.read('run'), {
      code: 'CORRUPT_ARTIFACT',
      message: /metrics\/1\.json of run run is damaged/,
    });
  });
});

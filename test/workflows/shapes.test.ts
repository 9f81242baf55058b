// Runs and stages go on in the shape that they began with: histories of many activities a step and an evaluation are
// still replayed and still continued. Whatever the shape, a run comes to the same bytes.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { createActivities } from '../../activities/index.js';
import type { RunMetrics } from '../../core/schema/metrics.js';
import type { RunResult } from '../../core/schema/run.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import { readMetrics } from '../../store/runs.js';
import type { Acts } from '../../workflows/acts.js';
import { type PipelineHooks, runPipeline } from '../../workflows/pipeline.js';
import { doubles, SMALL_RUN } from '../support/doubles.js';

interface Come {
  result: RunResult;
  records: unknown[];
  checkpoints: unknown[];
  asked: Map<string, number>; // activities
}

/** A run in process; what a clock measured is left out. */
async function comeTo(input: object, hooks: PipelineHooks): Promise<Come> {
  const world = await doubles();
  const asked = new Map<string, number>();
  const real = createActivities(world.deps);
  const acts = Object.fromEntries(
    Object.entries(real).map(([name, act]) => [
      name,
      (given: never) => {
        asked.set(name, (asked.get(name) ?? 0) + 1);
        return (act as (given: never) => unknown)(given);
      },
    ]),
  ) as unknown as Acts;
  try {
    const result = await runPipeline(acts, 'run', input, hooks);
    const timeless = (record: object): object =>
      JSON.parse(JSON.stringify(record, (key, value) => (/seconds|PerSecond/i.test(key) ? undefined : value)));
    const metrics = await readMetrics<RunMetrics>(world.deps.store, 'run');
    const checkpoints = await listCheckpoints(world.deps.store, 'run');
    return {
      result: { ...result, trainingSeconds: 0, report: '' },
      records: metrics.map(timeless),
      checkpoints: checkpoints.map(({ name, score, validation, files }) => ({ name, score, validation, files })),
      asked,
    };
  } finally {
    await rm(world.folder, { recursive: true, force: true });
  }
}

describe('a run of few long activities and one of many', () => {
  for (const [title, epochs, input] of [
    ['with a discriminator', 6, SMALL_RUN],
    ['without one', 4, { ...SMALL_RUN, discriminator: { enabled: false } }],
  ] as const) {
    it(`come to the same result, records and checkpoints ${title}`, async () => {
      const few = await comeTo(input, {});
      const many = await comeTo(input, { joined: false, shortEpochs: false });
      assert.ok(few.asked.has('judgeEvaluation') && !many.asked.has('judgeEvaluation'));
      assert.ok(many.asked.has('summariseEvaluation') && !few.asked.has('summariseEvaluation'));
      assert.ok(many.asked.get('generateChains')! > few.asked.get('generateChains')!);
      assert.deepEqual({ ...many, asked: 0 }, { ...few, asked: 0 });
      assert.equal(few.checkpoints.length, 1 + epochs);
    });
  }
});

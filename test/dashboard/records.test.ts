// The schedule and the number of steps that follow from the records of a run.
import assert from 'node:assert/strict';
import { resolveConfig } from '../../core/config/presets.js';
import { planStage } from '../../core/run/schedule.js';
import type { RunMetrics, StepMetrics } from '../../core/schema/metrics.js';
import { bandsOf } from '../../dashboard/data/records.js';

const SCHEDULE = { discriminatorSteps: 3, generatorSteps: 3, alternatingSteps: 4 };
const config = resolveConfig({ preset: 'tiny', schedule: SCHEDULE });

/** The metrics of steps 1 … count of the configured schedule. */
function stepsUntil(count: number): RunMetrics[] {
  const planned = config.schedule.stages.flatMap((stage) => planStage(config).map((step) => ({ ...step, stage })));
  return planned.slice(0, count).map((each, i) => ({ ...each, kind: 'step', step: i + 1 }) as StepMetrics);
}

const bands = (records: Parameters<typeof bandsOf>[0]) =>
  bandsOf(records).map(({ stage, phase, start, end, done }) => [stage, phase, start, end, done]);

describe('the schedule of a run in the dashboard', () => {
  it('begins after the checkpoint in a fork', () => {
    const metrics = (count: number) => stepsUntil(count).slice(8); // a fork of checkpoint_stage_1_epoch_4
    assert.deepEqual(bands({ config, metrics: metrics(9) }).slice(0, 2), [
      [1, 'alternating', 8, 10, 1],
      [2, 'discriminator', 10, 13, 0],
    ]);
    assert.deepEqual(bands({ config, metrics: metrics(11) }).slice(0, 2), [
      [1, 'alternating', 8, 10, 2],
      [2, 'discriminator', 10, 13, 1],
    ]);
    const changed = resolveConfig({ ...config, schedule: { ...SCHEDULE, discriminatorSteps: 5, alternatingSteps: 6 } });
    assert.deepEqual(bands({ config: changed, metrics: metrics(9) }).slice(0, 2), [
      [1, 'alternating', 8, 12, 1],
      [2, 'discriminator', 12, 17, 0],
    ]);
    assert.equal(bandsOf({ config, metrics: metrics(9) }).at(-1)!.end, 50);
  });

  it('has only the remaining steps of the warm start in a fork of a warm start', () => {
    const warm = resolveConfig({ ...config, warmStart: { discriminatorSteps: 3, generatorSteps: 12 } });
    const metrics = [{ kind: 'supervised', step: 5 }] as RunMetrics[];
    assert.deepEqual(bands({ config: warm, metrics })[0], [0, 'warm-start', 4, 15, 1]);
  });

  it('shows recorded steps unchanged, and plans the rest with the changed N and K', () => {
    const changed = resolveConfig({ ...config, schedule: { ...SCHEDULE, alternatingSteps: 0 } });
    const metrics = stepsUntil(14); // the run is in stage 2
    assert.deepEqual(bands({ config: changed, metrics }).slice(2, 6), [
      [1, 'alternating', 6, 10, 4],
      [2, 'discriminator', 10, 13, 3],
      [2, 'generator', 13, 16, 1],
      [3, 'discriminator', 16, 19, 0],
    ]);
    assert.equal(bandsOf({ config: changed, metrics }).at(-1)!.end, 34);
  });
});

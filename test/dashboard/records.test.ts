// The schedule and the number of steps that follow from the records of a run.
import assert from 'node:assert/strict';
import { resolveConfig } from '../../core/config/presets.js';
import { planStage } from '../../core/run/schedule.js';
import type { RunMetrics, StepMetrics } from '../../core/schema/metrics.js';
import { charts } from '../../dashboard/data/charts.js';
import { changeOf } from '../../dashboard/data/history.js';
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

describe('the charts of a run', () => {
  const evaluation = (split: 'validation' | 'test', step: number, checkpoint: string, passRate: number) =>
    ({ kind: 'evaluation', split, step, checkpoint, rates: { passRate }, seconds: 1, problems: 4 }) as const;

  it('draw the test split at the step of the checkpoint that was measured', () => {
    const metrics = [
      evaluation('validation', 0, 'base', 0.5),
      evaluation('test', 0, 'base', 0.5),
      evaluation('validation', 23, 'checkpoint_stage_3_epoch_1', 1),
      evaluation('validation', 50, 'checkpoint_stage_5_epoch_4', 0.75),
      { ...evaluation('test', 50, 'checkpoint_stage_3_epoch_1', 1), standardErrors: { passRate: 0 } },
    ];
    const { lines } = charts(metrics).find(({ id }) => id === 'evaluation.passRate')!;
    const test = lines.find(({ name }) => name === 'test')!.points;
    assert.deepEqual(
      test.map(({ step, problems }) => [step, problems]),
      [
        [0, 4],
        [23, 4],
      ],
    );
    assert.ok(test[1]!.low! < 0.6 && test[1]!.high === 1, 'four of four problems are no certainty');
    assert.equal(test[0]!.low, undefined, 'a share without a standard error has no interval');
  });
});

describe('two groups of programs of a problem', () => {
  const group = (step: number, passed: [number, number][]) => ({
    ...{ problemId: 'p', stage: 5, index: 0, reward: 0, good: 0, caught: 0, tests: 0, valid: 0 },
    ...{ step, samples: 4, whole: 3, passed },
  });

  it('are compared on the tests of both', () => {
    const change = changeOf(
      group(1, [
        [7, 4],
        [8, 0],
      ]),
      group(9, [
        [7, 3],
        [9, 0],
      ]),
    )!;
    assert.deepEqual([change.tests, change.before.value, change.after.value, change.after.step], [1, 1, 0.75, 9]);
    assert.equal(changeOf(group(1, [[7, 4]]), group(9, [[8, 4]])), undefined);
  });
});

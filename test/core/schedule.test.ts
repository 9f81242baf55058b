import assert from 'node:assert/strict';
import { resolveConfig } from '../../core/presets.js';
import { checkpointName, countSteps, endsEpoch, planStage } from '../../core/schedule.js';

const schedule = { discriminatorSteps: 2, generatorSteps: 3, alternatingSteps: 3 };

describe('planStage', () => {
  it('is N discriminator steps, N generator steps, then K in turn, generator first', () => {
    const plan = planStage(resolveConfig({ schedule }), 1);
    assert.deepEqual(
      plan.map(({ epoch, phase, step, role }) => [epoch, phase, step, role].join(' ')),
      [
        '1 discriminator 1 discriminator',
        '1 discriminator 2 discriminator',
        '2 generator 3 generator',
        '2 generator 4 generator',
        '2 generator 5 generator',
        '3 alternating 6 generator',
        '4 alternating 7 discriminator',
        '5 alternating 8 generator',
      ],
    );
    assert.deepEqual(
      plan.map((_, i) => endsEpoch(plan, i)),
      [false, true, false, false, true, true, true, true],
    );
    assert.equal(endsEpoch(plan, 8), false);
  });

  it('without a discriminator keeps every generator step and no other, with epochs counted without gaps', () => {
    const plan = planStage(resolveConfig({ schedule, discriminator: { enabled: false } }), 1);
    assert.deepEqual(
      plan.map(({ epoch, step, role }) => [epoch, step, role]),
      [
        [1, 1, 'generator'],
        [1, 2, 'generator'],
        [1, 3, 'generator'],
        [2, 4, 'generator'],
        [3, 5, 'generator'],
      ],
    );
  });

  it('both tiny presets update the generator 30 times, the one with a discriminator 60 times in all', () => {
    const tiny = resolveConfig({ preset: 'tiny' });
    const control = resolveConfig({ preset: 'tiny-no-discriminator' });
    assert.deepEqual(
      [countSteps(tiny), countSteps(tiny, 'generator'), countSteps(control), countSteps(control, 'discriminator')],
      [60, 30, 30, 0],
    );
  });

  it('may be the minimal run, or empty', () => {
    const one = { discriminatorSteps: 1, generatorSteps: 1, alternatingSteps: 1 };
    assert.equal(planStage(resolveConfig({ schedule: one })).length, 3);
    const none = { discriminatorSteps: 0, generatorSteps: 0, alternatingSteps: 0 };
    assert.deepEqual(planStage(resolveConfig({ schedule: none })), []);
  });

  it('names checkpoints by stage and epoch', () => {
    assert.equal(checkpointName(3, 12), 'checkpoint_stage_3_epoch_12');
  });
});

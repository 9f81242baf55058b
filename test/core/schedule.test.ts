import assert from 'node:assert/strict';
import { resolveConfig } from '../../core/config/presets.js';
import { countSteps, endsEpoch, planStage, planWarmStart, remainingStages, replan } from '../../core/run/schedule.js';
import { checkpointName } from '../../core/schema/checkpoint.js';

const schedule = { discriminatorSteps: 2, generatorSteps: 3, alternatingSteps: 3 };

describe('planWarmStart', () => {
  const counts = { discriminatorSteps: 1, generatorSteps: 2 };
  const roles = (input: object): string[] => planWarmStart(resolveConfig(input)).map(({ role }) => role);

  it('returns one epoch with the discriminator first, or without its steps if there is none', () => {
    assert.deepEqual(roles({ warmStart: counts }), ['discriminator', 'generator', 'generator']);
    for (const discriminator of [{ enabled: false }, { writer: 'random', expected: 'reference' }])
      assert.deepEqual(roles({ warmStart: counts, discriminator }), ['generator', 'generator']);
    assert.equal(roles({ warmStart: counts, discriminator: { trained: false } }).length, 3);
    assert.deepEqual(roles({}), []);
  });

  it('comes before the stages if it has steps', () => {
    const stages = (input: object) => remainingStages({ config: resolveConfig(input), stage: 0, next: 0 });
    assert.deepEqual(stages({ stages: [4, 5], warmStart: { generatorSteps: 1 } }), [0, 4, 5]);
    assert.deepEqual(stages({ stages: [4, 5] }), [4, 5]);
  });
});

describe('planStage', () => {
  it('returns N discriminator steps, N generator steps, then K alternating steps that begin with the generator', () => {
    const plan = planStage(resolveConfig({ schedule }));
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

  it('ends an epoch after epochSteps steps of a phase, even after N changed', () => {
    const config = (generatorSteps: number) =>
      resolveConfig({ schedule: { ...schedule, generatorSteps, epochSteps: 2 } });
    const epochs = (plan: { epoch: number }[]): string => plan.map(({ epoch }) => epoch).join('');
    const plan = planStage(config(5));
    assert.equal(epochs(plan), '1122334567');
    assert.equal(epochs(replan(plan.slice(0, 3), config(6))), '11223344567');
    assert.equal(epochs(replan(plan.slice(0, 4), config(3), true)), '11223456');
  });

  it('keeps exactly the generator steps without a discriminator, and counts epochs without gaps', () => {
    const plan = planStage(resolveConfig({ schedule, discriminator: { enabled: false } }));
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

  it('updates no discriminator that is frozen or random', () => {
    const updates = (discriminator: object) =>
      countSteps(
        resolveConfig({ schedule, discriminator: { expected: 'reference', ...discriminator } }),
        'discriminator',
      );
    assert.ok(updates({}) > 0);
    assert.deepEqual([updates({ trained: false }), updates({ writer: 'random' })], [0, 0]);
  });

  it('updates the generator 25 times in both tiny presets, of 50 updates in the one with a discriminator', () => {
    const tiny = resolveConfig({ preset: 'tiny' });
    const control = resolveConfig({ preset: 'tiny-no-discriminator' });
    assert.deepEqual(
      [countSteps(tiny), countSteps(tiny, 'generator'), countSteps(control), countSteps(control, 'discriminator')],
      [50, 25, 25, 0],
    );
  });

  it('may return a minimal run or an empty one', () => {
    const one = { discriminatorSteps: 1, generatorSteps: 1, alternatingSteps: 1 };
    assert.equal(planStage(resolveConfig({ schedule: one })).length, 3);
    const none = { discriminatorSteps: 0, generatorSteps: 0, alternatingSteps: 0 };
    assert.deepEqual(planStage(resolveConfig({ schedule: none })), []);
  });

  it('names checkpoints by stage and epoch', () => {
    assert.equal(checkpointName(3, 12), 'checkpoint_stage_3_epoch_12');
  });
});

describe('replan', () => {
  const config = (discriminatorSteps: number, generatorSteps: number, alternatingSteps: number) =>
    resolveConfig({ schedule: { stages: [5], discriminatorSteps, generatorSteps, alternatingSteps } });
  const brief = (plan: ReturnType<typeof planStage>) => plan.map((s) => `${s.epoch}${s.phase[0]}${s.step}`).join(' ');
  const whole = planStage(config(2, 3, 2));

  it('changes nothing if N and K stay the same', () => {
    for (let done = 0; done <= whole.length; done++)
      assert.deepEqual(replan(whole.slice(0, done), config(2, 3, 2)), whole);
  });
  it('extends the current phase to its new length, and gives later phases theirs', () => {
    assert.equal(brief(replan(whole.slice(0, 3), config(9, 4, 1))), '1d1 1d2 2g3 2g4 2g5 2g6 3a7');
    assert.equal(brief(replan(whole.slice(0, 6), config(1, 1, 4))), '1d1 1d2 2g3 2g4 2g5 3a6 4a7 5a8 6a9');
  });
  it('ends a phase that has had all its steps, and continues the numbers without gaps', () => {
    const plan = replan(whole.slice(0, 4), config(2, 1, 1));
    assert.equal(brief(plan), '1d1 1d2 2g3 2g4 3a5');
    assert.ok(endsEpoch(plan, 3));
  });
  it('continues the order of alternating steps', () => {
    const plan = replan(whole.slice(0, 6), config(2, 3, 3));
    assert.deepEqual(
      plan.slice(5).map((s) => s.role),
      ['generator', 'discriminator', 'generator'],
    );
  });
  it('ends a stage whose schedule has ended', () => {
    assert.deepEqual(replan(whole, config(0, 0, 0)), whole);
  });
});

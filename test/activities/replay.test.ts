import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { recordedSteps, replayStep } from '../../chains/replayStep.js';
import { answerWith, type Doubles, memoryDoubles as doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

describe('the replay of rewards', () => {
  let world: Doubles;
  before(async () => {
    world = await doubles();
    await runPipeline(createActivities(world.deps), 'run', SMALL_RUN);
    world.deps.engine = () => assert.fail('no model is asked for');
  });

  it('recomputes the recorded rewards of every step from artifacts', async () => {
    const steps = await recordedSteps(world.deps, 'run');
    assert.equal(steps.length, 6);
    const jobs = world.sandbox.jobs.length;
    for (const step of steps) {
      const replay = await replayStep(world.deps, 'run', step);
      assert.deepEqual([replay.matches, replay.differs, replay.reward], [true, [], step.reward]);
    }
    assert.equal(world.sandbox.jobs.length, jobs, 'nothing was executed');
  });

  it('also runs the programs again with their recorded tests', async () => {
    for (const step of await recordedSteps(world.deps, 'run')) {
      const jobs = world.sandbox.jobs.length;
      const { differs } = await replayStep(world.deps, 'run', step, true);
      assert.deepEqual([step.step, differs], [step.step, []]);
      assert.ok(world.sandbox.jobs.length > jobs);
    }
  });

  it('names each difference', async () => {
    const [, step] = await recordedSteps(world.deps, 'run');
    const other = {
      ...step!,
      reward: step!.reward + 1,
      groups: 99,
      artifacts: { ...step!.artifacts!, trajectories: 'sha256:0' },
    };
    const replay = await replayStep(world.deps, 'run', other);
    assert.deepEqual([replay.matches, replay.differs], [false, ['trajectories', 'reward', 'groups']]);
    const run = world.sandbox.run.bind(world.sandbox);
    world.sandbox.run = answerWith(() => ({ kind: 'value', value: -1 }));
    assert.deepEqual((await replayStep(world.deps, 'run', step!, true)).differs, ['verdicts']);
    world.sandbox.run = run;
  });

  it('skips figures that an earlier version did not record', async () => {
    const [step] = await recordedSteps(world.deps, 'run');
    const { groups: _, allEqualGroups: __, ...older } = step!;
    assert.deepEqual((await replayStep(world.deps, 'run', older)).differs, []);
  });

  it('refuses a run that does not exist', async () => {
    await assert.rejects(recordedSteps(world.deps, 'nobody'), { code: 'NOT_FOUND' });
  });
});

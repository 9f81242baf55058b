// Follows the figures that only alarms watch from the artifacts of a run to the outputs for users.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createActivities } from '../../activities/index.js';
import { recordedSteps } from '../../chains/replayStep.js';
import { openDisplay } from '../../cli/run/watch.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import type { RunProgress } from '../../core/schema/run.js';
import type { RunView } from '../../dashboard/api.js';
import { openResources } from '../../dashboard/data/resources.js';
import { openStore } from '../../store/openStore.js';
import type { ProgressUpdate } from '../../workflows/runState.js';
import { type Doubles, doubles, memoryDoubles, SKILLED_RANK, TINIEST_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

/** The generator makes no mistake, so only validity earns a reward, which the alarm `term` reports. */
const ONE_TERM = {
  ...TINIEST_RUN,
  schedule: { stages: [5], discriminatorSteps: 6, generatorSteps: 1, alternatingSteps: 0 },
  reward: { scheme: 'code-a1' },
  lora: { rank: SKILLED_RANK },
} as const;

describe('a run with an alarm', () => {
  let world: Doubles;
  let shown: string; // the output of `train --watch`
  let steps: StepMetrics[];

  before(async () => {
    world = await doubles();
    const stream = new PassThrough();
    const display = openDisplay(stream as never);
    let progress: RunProgress = { runId: 'run', state: 'preparing', step: 0, totalSteps: 0 };
    const onProgress = (change: ProgressUpdate): void => {
      progress = { ...progress, ...change };
      display.update(progress);
    };
    await runPipeline(createActivities(world.deps), 'run', ONE_TERM, { onProgress });
    shown = String(stream.read());
    steps = await recordedSteps(world.deps, 'run');
  });

  it('records the alarm in the steps that raise it', () => {
    const kinds = steps.map(({ warnings = [] }) => warnings.map(({ kind }) => kind).filter((kind) => kind === 'term'));
    assert.deepEqual(kinds, [[], [], [], [], ['term'], ['term'], []]);
  });

  it('shows the alarm once in `train --watch`', () => {
    assert.equal(
      shown.match(/warning: the term 'valid and distinct' makes 100 % of the discriminator's rewards/g)?.length,
      1,
    );
  });

  it('marks the first step of the alarm in the dashboard', async () => {
    const resources = openResources(await openStore(world.folder));
    const view = (await resources.read('runs/run')) as RunView;
    assert.deepEqual(
      view.events.map(({ step, kind }) => [step, kind]),
      [[5, 'alarm (term)']],
    );
    assert.ok(view.warnings.some(({ text }) => /^the term 'valid and distinct'.*\(2 of 7 steps\)$/.test(text)));
    assert.ok(view.charts.some(({ id, percent }) => id === 'term.valid and distinct' && percent));
  });

  it('counts the groups of every step that are all right, all wrong or equal', async () => {
    for (const { role, groups, allRightGroups, allWrongGroups, allEqualGroups, artifacts } of steps) {
      const judged = await world.deps.store.getJson(artifacts.verdicts);
      assert.equal(groups, judged.length);
      if (role === 'discriminator') continue;
      const passes = judged.map(({ verdicts }) => verdicts.map((own) => own.every((verdict) => verdict === 'pass')));
      assert.equal(allRightGroups, passes.filter((own) => own.every(Boolean)).length);
      assert.equal(allWrongGroups, passes.filter((own) => !own.some(Boolean)).length);
      assert.ok(allEqualGroups! >= allRightGroups!);
    }
    const [generator] = steps.filter(({ role }) => role === 'generator');
    assert.equal(generator!.literalRate, 0);
    assert.ok(generator!.programTokens! > 10);
  });
});

describe('the rate of sandbox faults', () => {
  it('counts the failed attempts before the attempt that ended', async () => {
    const { deps } = await memoryDoubles();
    const activities = createActivities(deps);
    const environment = new MockActivityEnvironment({ attempt: 3 });
    await runPipeline(
      { ...activities, executeSuite: (input) => environment.run(() => activities.executeSuite(input)) },
      'run',
      TINIEST_RUN,
    );
    const steps = await recordedSteps({ store: deps.store }, 'run');
    // a discriminator step also uses the sandbox to select its targets
    for (const { role, sandboxFaultRate } of steps)
      assert.equal(sandboxFaultRate, role === 'generator' ? 2 / 3 : 2 / 4);
    const calm = await memoryDoubles();
    await runPipeline(createActivities(calm.deps), 'run', TINIEST_RUN);
    for (const step of await recordedSteps(calm.deps, 'run')) assert.ok(!('sandboxFaultRate' in step));
  });
});

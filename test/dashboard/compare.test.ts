// The comparison of two runs.
import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import type { Request } from '../../core/run/control.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { DiffView, RunView, StepView } from '../../dashboard/api.js';
import { openResources, type Resources } from '../../dashboard/data/resources.js';
import { openStore } from '../../store/openStore.js';
import { writeMetrics } from '../../store/runs.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { pluck } from '../support/pluck.js';
import { runPipeline } from '../support/runs.js';

const RUN = { ...SMALL_RUN, schedule: { ...SMALL_RUN.schedule, stages: [5] } } as const;

describe('the comparison of two runs in the dashboard', () => {
  let world: Doubles;
  let resources: Resources;
  const diff = async (a: string, b: string): Promise<DiffView> => (await resources.read(`diff/${a}/${b}`)) as DiffView;

  before(async () => {
    world = await doubles();
    const activities = createActivities(world.deps);
    await runPipeline(activities, 'run', RUN);
    await runPipeline(activities, 'same', RUN);
    await runPipeline(activities, 'seed', { ...RUN, seed: 1 });
    await runPipeline(activities, 'scheme', { ...RUN, reward: { scheme: 'code-a1' } });
    const queue: Request[] = [];
    await runPipeline(activities, 'faster', RUN, {
      requests: { take: () => queue.shift() },
      onProgress: ({ step }) =>
        step === 1 && void queue.push({ kind: 'change', fields: { ppo: { learningRate: 0.25 } }, at: '' }),
    });
    resources = openResources(await openStore(world.folder));
  });

  it('finds no difference between two equal runs', async () => {
    const { facts, tokens, reward, commonSteps } = await diff('run', 'same');
    assert.deepEqual({ facts, tokens, reward, commonSteps }, { facts: [], commonSteps: 3, ...NOTHING });
  });

  it('finds the first token that differs after a change of the learning rate', async () => {
    const { facts, tokens } = await diff('run', 'faster');
    const { values } = facts.find(({ name }) => name === 'ppo.learningRate')!;
    assert.deepEqual(values, ['0.001', '0.25']);
    assert.ok(tokens!.step > 2, 'the steps until the change have the same adapters');
    assert.notEqual(tokens!.ids?.[0], tokens!.ids?.[1]);
    assert.notEqual(tokens!.texts?.[0], tokens!.texts?.[1]);
  });

  it('finds the first token, problem and reward that differ between two seeds', async () => {
    const { facts, tokens, reward } = await diff('run', 'seed');
    assert.deepEqual(facts.find(({ name }) => name === 'seed')?.values, ['3', '1']);
    assert.equal(tokens!.step, 1);
    assert.equal(tokens!.what, 'another problem');
    const problemsOf = async (run: string): Promise<string[]> =>
      ((await resources.read(`runs/${run}/steps/1`)) as StepView).groups.map(({ problemId }) => problemId);
    const [problems, others] = [await problemsOf('run'), await problemsOf('seed')];
    const at = problems.findIndex((id, i) => id !== others[i]);
    assert.deepEqual(tokens!.problems, [problems[at], others[at]]);
    assert.notEqual(tokens!.ids![0], tokens!.ids![1]);
    assert.notEqual(reward!.values![0], reward!.values![1]);
  });

  it('compares problems on the tests that both runs have', async () => {
    const { problems } = await diff('run', 'same');
    assert.ok(problems.length > 0);
    for (const { change } of problems) {
      assert.ok(change.tests > 0);
      assert.deepEqual(change.before, change.after);
    }
  });

  it('finds the first reward that differs although the tokens are equal', async () => {
    const { reward, tokens, charts } = await diff('run', 'scheme');
    assert.equal(reward!.step, 1);
    assert.notEqual(reward!.values![0], reward!.values![1]);
    assert.ok(tokens === undefined || tokens.step > 1);
    for (const role of ['discriminator', 'generator']) {
      const { lines } = charts.find(({ id }) => id === `step.reward.${role}`)!;
      assert.deepEqual(
        lines.map(({ name, colour }) => [name, colour]),
        [
          ['run', 'one'],
          ['scheme', 'two'],
        ],
      );
    }
  });

  it('applies and lists more than ten changes in their order', async () => {
    await runPipeline(createActivities(world.deps), 'changed', RUN);
    for (let index = 0; index <= 10; index++) {
      const fields = { ppo: { learningRate: (index + 1) / 100 } };
      const record = { kind: 'control', step: 1, index, stage: 5, next: 1, action: 'change', fields, at: '' } as const;
      await writeMetrics(world.deps.store, 'changed', `1-control-${index}`, record);
    }
    const { config, events } = (await resources.read('runs/changed')) as RunView;
    assert.equal((config as RunConfig).ppo.learningRate, 0.11);
    assert.deepEqual(
      pluck(events, 'text'),
      Array.from({ length: 11 }, (_, index) => `ppo.learningRate=${(index + 1) / 100}`),
    );
  });
});

const NOTHING = { tokens: undefined, reward: undefined };

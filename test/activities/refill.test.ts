// Generator steps that draw further problems in place of groups with one outcome.
import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import { recordedSteps, replayStep } from '../../chains/replayStep.js';
import type { Draw } from '../../core/rewards/liveGroups.js';
import { isLive } from '../../core/rewards/liveGroups.js';
import { readRollouts } from '../../dashboard/data/rollouts.js';
import type { Activities } from '../../method/activities.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import { readMetrics } from '../../store/runs.js';
import { type Doubles, memoryDoubles, REFILLED } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

const generatorSteps = async ({ deps }: Doubles) =>
  (await recordedSteps(deps, 'run')).filter(({ role }) => role === 'generator');

/** Everything that a run leaves in the store, without times. */
async function bytesOf({ deps }: Doubles) {
  const records = (await readMetrics(deps.store, 'run')).map((one) => ({ ...one, seconds: 0, tokensPerSecond: 0 }));
  const checkpoints = await listCheckpoints(deps.store, 'run');
  return { records, checkpoints: checkpoints.map(({ name, files, score }) => [name, files, score]) };
}

describe('a run with batch.refill', () => {
  let world: Doubles;
  const draws: (Draw | undefined)[] = [];
  before(async () => {
    world = await memoryDoubles();
    const acts = createActivities(world.deps);
    const listening: Activities = {
      ...acts,
      async generateChains(input) {
        if (input.batch.kind === 'train' && input.batch.role === 'generator') draws.push(input.batch.draw);
        return acts.generateChains(input);
      },
    };
    await runPipeline(listening, 'run', REFILLED);
  });

  it('draws the next problems in the order of the step, each once, within its limit of rounds', async () => {
    const steps = await generatorSteps(world);
    assert.ok(steps.some(({ refillRounds }) => refillRounds! > 0));
    for (const { refillRounds, artifacts } of steps) {
      assert.ok(refillRounds! <= REFILLED.batch.refill);
      const ids = (await world.deps.store.getJson(artifacts.verdicts)).map(({ problemId }) => problemId);
      assert.equal(new Set(ids).size, ids.length);
    }
    assert.equal(draws.filter((draw) => draw === undefined).length, steps.length, 'one first draw for each step');
    assert.equal(
      draws.length - steps.length,
      steps.reduce((sum, { refillRounds }) => sum + refillRounds!, 0),
    );
  });

  it('trains only on live groups, and on more of them than without refill', async () => {
    for (const record of await generatorSteps(world)) {
      const { judged, advantages_P_G } = await readRollouts(world.deps.store, record);
      const live = judged.filter(isLive);
      assert.ok(live.length <= REFILLED.batch.generator.problems);
      const first = judged.slice(0, REFILLED.batch.generator.problems).filter(isLive);
      if (record.refillRounds! > 0) assert.ok(live.length >= first.length && judged.length > 4);
      const credited = advantages_P_G!.flat().filter((advantage) => Math.abs(advantage) >= 1e-6);
      assert.equal(record.rows, credited.length);
      for (const [i, one] of judged.entries())
        if (!isLive(one)) assert.deepEqual([...new Set(advantages_P_G![i])], [0]);
    }
  });

  it('counts all its tokens, but measures only its first draw, like a run without refill', async () => {
    const plain = await memoryDoubles();
    await runPipeline(createActivities(plain.deps), 'run', { ...REFILLED, batch: { ...REFILLED.batch, refill: 0 } });
    const [[refilled], [other]] = [await generatorSteps(world), await generatorSteps(plain)];
    assert.ok(refilled!.refillRounds! > 0);
    assert.ok(refilled!.sampledTokens > other!.sampledTokens);
    for (const figure of ['reward', 'passRate', 'validity', 'suiteSize', 'outcomes', 'standardErrors'] as const)
      assert.deepEqual(refilled![figure], other![figure], figure);
    assert.ok(!('refillRounds' in other!));
  });

  it('can be replayed from its artifacts, including its programs', async () => {
    for (const step of await recordedSteps(world.deps, 'run'))
      assert.deepEqual((await replayStep(world.deps, 'run', step, true)).differs, [], `step ${step.step}`);
  });

  it('ends with the same bytes after a failure at any point of a round, and samples nothing twice', async () => {
    const expected = await bytesOf(world);
    const samplings = world.engine.calls.filter((name) => name === 'generate').length;
    for (let failing = 3; failing <= samplings; failing += 3) {
      const again = await memoryDoubles();
      const generate = again.engine.generate.bind(again.engine);
      let calls = 0;
      again.engine.generate = async (...args) => {
        if (++calls === failing) throw new Error('the worker died');
        return generate(...args);
      };
      const activities = createActivities(again.deps);
      await assert.rejects(runPipeline(activities, 'run', REFILLED), /the worker died/);
      await runPipeline(activities, 'run', REFILLED);
      assert.deepEqual(await bytesOf(again), expected, `call ${failing}`);
      assert.deepEqual(again.engine.rows, world.engine.rows, `call ${failing}`);
    }
  });

  it('uses a result that was stored before the worker died', async () => {
    const expected = await bytesOf(world);
    for (const name of ['generateChains', 'executeSuite', 'completeBatch'] as const) {
      const again = await memoryDoubles();
      const activities = createActivities(again.deps);
      const dying = { ...activities } as unknown as Record<string, (input: object) => Promise<object>>;
      const inner = dying[name]!;
      let calls = 0;
      dying[name] = async (input) => {
        const output = await inner(input);
        if (++calls === 3) throw new Error('the worker died');
        return output;
      };
      await assert.rejects(runPipeline(dying as unknown as Activities, 'run', REFILLED), /the worker died/);
      await runPipeline(activities, 'run', REFILLED);
      assert.deepEqual(await bytesOf(again), expected, name);
      assert.deepEqual(again.engine.rows, world.engine.rows, name);
    }
  });

  it('continues with its present groups if no problem is left', async () => {
    const small = await memoryDoubles();
    const problems = 11; // 12 problems exist
    await runPipeline(createActivities(small.deps), 'run', {
      ...REFILLED,
      batch: { ...REFILLED.batch, generator: { problems, samples: 2 }, refill: 10 },
    });
    for (const { artifacts } of await generatorSteps(small))
      assert.ok((await small.deps.store.getJson(artifacts.verdicts)).length <= 12);
  });
});

// The dashboard's API over a store that a real run wrote.
import assert from 'node:assert/strict';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { createActivities } from '../../activities/index.js';
import type { Ref } from '../../core/base/ref.js';
import type {
  GroupSummary,
  GroupView,
  ProblemHistory,
  RunList,
  RunView,
  StageHistory,
  StepView,
  TokenRow,
  TokensView,
} from '../../dashboard/api.js';
import { openResources, type Resources } from '../../dashboard/data/resources.js';
import { shippedModelPath } from '../../data/paths.js';
import type { UpdatePolicyOutput } from '../../method/train.js';
import { layout } from '../../store/layout.js';
import { kindOfRow, readMemoRecord } from '../../store/memo.js';
import { openStore } from '../../store/openStore.js';
import { writeAttention } from '../../store/runs.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

describe('the resources of the dashboard', () => {
  let world: Doubles;
  let resources: Resources;
  const read = async <T>(path: string): Promise<T> => (await resources.read(path)) as T;

  before(async () => {
    world = await doubles();
    await runPipeline(createActivities(world.deps), 'run', SMALL_RUN);
    const failed = { runId: 'unprepared', state: 'failed', step: 0, totalSteps: 0 } as const;
    await writeAttention(world.deps.store, failed.runId, failed); // it has no other record, and is not listed
    resources = openResources(await openStore(world.folder));
  });

  it('list a finished run with its position, score and cost', async () => {
    const { runs } = await read<RunList>('runs');
    assert.equal(runs.length, 1);
    const { id, state, step, totalSteps, stage, phase, best, sampledTokens, secondsLeft } = runs[0]!;
    assert.deepEqual(
      { id, state, step, totalSteps, stage, phase, secondsLeft },
      { id: 'run', state: 'finished', step: 6, totalSteps: 6, stage: 5, phase: 'alternating', secondsLeft: undefined },
    );
    assert.match(best ?? '', /^checkpoint_stage_/);
    const { steps } = await read<RunView>('runs/run');
    const passRates = steps.filter(({ role }) => role === 'generator').map(({ passRate }) => passRate);
    assert.deepEqual(runs[0]!.curves.passRate, passRates);
    assert.equal(runs[0]!.curves.validity.length, 6);
    assert.ok(sampledTokens > 0);
  });

  it('show the schedule of a run and a chart of every metric', async () => {
    const { bands, charts, steps } = await read<RunView>('runs/run');
    assert.deepEqual(
      bands.map(({ stage, phase, start, end, done }) => [stage, phase, start, end, done]),
      [
        [1, 'discriminator', 0, 1, 1],
        [1, 'generator', 1, 2, 1],
        [1, 'alternating', 2, 3, 1],
        [5, 'discriminator', 3, 4, 1],
        [5, 'generator', 4, 5, 1],
        [5, 'alternating', 5, 6, 1],
      ],
    );
    const reward = charts.find(({ id }) => id === 'step.reward')!;
    assert.deepEqual(reward.lines.map(({ name }) => name).sort(), ['discriminator', 'generator']);
    for (const id of [
      'step.reward',
      'step.passRate',
      'step.validity',
      'evaluation.passRate',
      'evaluation.testValidity',
    ]) {
      const { lines } = charts.find((chart) => chart.id === id)!;
      const points = lines.flatMap((line) => line.points);
      assert.ok(points.length > 0 && points.every(({ low, high }) => low! < high!), id);
    }
    for (const { id, title } of charts)
      assert.ok(!id.endsWith(`.${title}`), `TITLES in dashboard/data/charts.ts has no title for '${id}'`);
    const names = charts.map(({ id }) => id);
    for (const id of ['outcome.passed', 'evaluation.passRate', 'update.approxKl', 'cost.sampledTokens'])
      assert.ok(names.includes(id), id);
    assert.equal(steps.length, 6);
  });

  it('compute the same rewards as the step recorded', async () => {
    for (const { step, reward } of (await read<RunView>('runs/run')).steps) {
      const { groups, role } = await read<StepView>(`runs/run/steps/${step}`);
      const rewards = groups.flatMap(({ samples }) => samples.map((sample) => sample.reward));
      const mean = rewards.reduce((sum, value) => sum + value, 0) / rewards.length;
      assert.ok(Math.abs(mean - reward) < 1e-9, `step ${step}: ${mean} and ${reward}`);
      assert.equal(groups.length, role === 'generator' ? 4 : 3);
      for (const { samples } of groups) {
        const total = samples.reduce((sum, { advantage }) => sum + advantage!, 0);
        assert.ok(Math.abs(total) < 1e-9, 'the advantages of a group add up to zero');
      }
    }
  });

  it('show the programs of a generator group with their tests and the terms of their rewards', async () => {
    const group = await read<GroupView>('runs/run/steps/2/groups/0');
    assert.equal(group.role, 'generator');
    assert.equal(group.programs.length, 4);
    for (const { stages, verdicts, reward, terms, program } of group.programs) {
      assert.deepEqual(
        stages.map(({ title }) => title),
        ['informal reasoning', 'structured reasoning', 'pseudocode', 'constraints and invariants', 'executable code'],
      );
      assert.equal(verdicts.length, group.suite.length);
      assert.equal(
        terms!.reduce((sum, { value }) => sum + value, 0),
        reward,
      );
      assert.match(program, /def solve/);
    }
    assert.ok(group.suite.some(({ origin }) => origin === 'baseline'));
    assert.match(group.suite[0]!.call, /^solve\(/);
  });

  it('show the tests of a discriminator group: valid, invalid and caught', async () => {
    const outcomes = new Set<string>();
    const { groups } = await read<StepView>('runs/run/steps/4');
    for (const { index, samples } of groups) {
      const { turns, programs } = await read<GroupView>(`runs/run/steps/4/groups/${index}`);
      assert.equal(turns.length, samples.length);
      assert.equal(programs.length, 1);
      for (const { tests, terms, reward } of turns) {
        for (const { outcome } of tests) outcomes.add(outcome);
        if (tests.length > 0) assert.ok(Math.abs(terms!.reduce((sum, { value }) => sum + value, 0) - reward!) < 1e-9);
      }
    }
    assert.ok(outcomes.has('caught') && outcomes.has('invalid'), [...outcomes].join(' '));
  });

  it('show trained tokens with entropies and the log-probs that the update used', async () => {
    for (const step of [2, 4]) {
      const { rows } = await read<StepView>(`runs/run/steps/${step}`);
      const { groups } = await read<StepView>(`runs/run/steps/${step}`);
      let trained = 0;
      for (const { index, samples } of groups) {
        const view = await read<TokensView>(`runs/run/steps/${step}/groups/${index}/tokens`);
        assert.ok(view.hasLogprobs && view.hasText);
        assert.equal(view.samples.length, samples.length);
        for (const [i, { rows: own }] of view.samples.entries()) {
          for (const { ids, mask, logprobs, entropies, advantage, texts } of own) {
            assert.equal(texts!.length, ids.length);
            if (advantage === undefined) continue;
            trained++;
            assert.equal(advantage, samples[i]!.advantage);
            assert.ok(mask.every((bit, t) => (bit === 1 ? logprobs![t]! < 0 : logprobs![t] === 0)));
            logprobs!.forEach((logprob, t) => {
              assert.ok(Math.abs(entropies![t]! - logprob / -2) < 1e-6); // the value that the double of the engine returns
            });
          }
        }
      }
      assert.equal(trained, rows);
    }
  });

  it('show the text of tokens of a model in the cache of the hub', async () => {
    const { HF_HUB_CACHE } = process.env;
    const cache = join(world.folder, 'hub');
    process.env.HF_HUB_CACHE = cache;
    try {
      const [model, commit] = [join(cache, 'models--some--model'), 'c0ffee'.padEnd(40, '0')];
      for (const name of ['refs', 'snapshots']) await mkdir(join(model, name), { recursive: true });
      await writeFile(join(model, 'refs/main'), commit);
      await symlink(shippedModelPath('tiny'), join(model, 'snapshots', commit));
      await runPipeline(createActivities(world.deps), 'public', { ...SMALL_RUN, model: 'some/model' });
      const { hasText } = await read<TokensView>('runs/public/steps/2/groups/0/tokens');
      assert.ok(hasText);
    } finally {
      if (HF_HUB_CACHE === undefined) delete process.env.HF_HUB_CACHE;
      else process.env.HF_HUB_CACHE = HF_HUB_CACHE;
      await rm(join(world.folder, 'runs/public'), { recursive: true });
    }
  });

  /** The memo rows of all updates and their results. */
  async function updates(): Promise<{ key: string; output: UpdatePolicyOutput }[]> {
    const { store } = world.deps;
    const rows = (await store.memoKeys()).map(async (key) => {
      if (kindOfRow(key).kind !== 'result' || (await readMemoRecord(store, key))?.name !== 'updatePolicy') return [];
      const output: Ref<UpdatePolicyOutput> = (await store.getMemo(key))!;
      return [{ key, output: await store.getJson(output) }];
    });
    return (await Promise.all(rows)).flat();
  }

  /** The views of all groups of a step, and the trained rows of each. */
  async function tokensOf(from: Resources, step: number): Promise<{ views: TokensView[]; rows: TokenRow[] }> {
    const { groups } = await read<StepView>(`runs/run/steps/${step}`);
    const paths = groups.map(({ index }) => `runs/run/steps/${step}/groups/${index}/tokens`);
    const views = (await Promise.all(paths.map((path) => from.read(path)))) as TokensView[];
    const rows = views.flatMap(({ samples }) => samples.flatMap((sample) => sample.rows));
    return { views, rows: rows.filter(({ advantage }) => advantage !== undefined) };
  }

  it('show the ratios that the update recorded, in its order, and which of them were clipped', async () => {
    const { store } = world.deps;
    const recorded = await Promise.all((await updates()).map(({ output }) => store.getJson(output.ratios!)));
    const seen = new Set<string>();
    for (const { step } of (await read<RunView>('runs/run')).steps) {
      const { views, rows } = await tokensOf(resources, step);
      for (const { clip } of views) assert.deepEqual(clip, [0.8, 1.2]);
      const shown = rows.map(({ ratios, mask }) => ratios!.filter((_, t) => mask[t] === 1));
      assert.ok(
        recorded.some((ratios) => isDeepStrictEqual(ratios, shown)),
        `step ${step}`,
      );
      for (const { ratios, clipped, mask, advantage } of rows)
        for (const [t, ratio] of ratios!.entries()) {
          const gain = (r: number): number => Math.min(r * advantage!, Math.min(1.2, Math.max(0.8, r)) * advantage!);
          const isFlat = gain(ratio + 1e-6) === gain(ratio - 1e-6); // the token has no gradient
          assert.equal(clipped![t], Number(mask[t] === 1 && isFlat), `ratio ${ratio}, advantage ${advantage}`);
          if (mask[t] === 1)
            seen.add(`${Math.sign(advantage!)} ${ratio < 0.8 ? 'low' : ratio > 1.2 ? 'high' : 'inside'}`);
        }
    }
    assert.equal(seen.size, 6, [...seen].join(', '));
  });

  it('show a run whose ratios were not recorded', async () => {
    const { store } = world.deps;
    for (const { key, output } of await updates()) {
      const { ratios: _, ...rest } = output;
      await rm(join(world.folder, layout.memo(key)));
      await store.putMemo(key, await store.putJson(rest), 'recorded');
    }
    const { views, rows } = await tokensOf(openResources(await openStore(world.folder)), 2);
    assert.ok(views.every(({ clip, hasLogprobs }) => clip === undefined && hasLogprobs));
    assert.ok(rows.length > 0 && rows.every(({ ratios, clipped }) => ratios === undefined && clipped === undefined));
  });

  it('show the history of a problem over the steps', async () => {
    const { problems } = await read<ProblemHistory>('runs/run/problems');
    const points = problems.flatMap((problem) => problem.points);
    assert.equal(points.length, 4 * 4 + 2 * 3); // 4 generator steps with 4 groups, and 2 discriminator steps with 3
    assert.ok(problems.every(({ id }) => id.startsWith('add-')));
    const { id, change } = problems.find((problem) => problem.change)!;
    const groups = problems.find((problem) => problem.id === id)!.points.filter(({ role }) => role === 'generator');
    assert.deepEqual([change!.before.step, change!.after.step], [groups[0]!.step, groups.at(-1)!.step]);
    assert.ok(change!.tests > 0 && change!.before.programs === 4);
  });

  it('count the tests for each stage over all discriminator steps', async () => {
    const { stages } = await read<StageHistory>('runs/run/stages');
    const groups: GroupSummary[] = [];
    for (const { step, role } of (await read<RunView>('runs/run')).steps)
      if (role === 'discriminator') groups.push(...(await read<StepView>(`runs/run/steps/${step}`)).groups);
    assert.deepEqual(
      stages.map(({ stage }) => stage),
      [...new Set(groups.map(({ stage }) => stage!))].sort(),
    );
    for (const { stage, samples, caught, tests, valid } of stages) {
      const own = groups.filter((group) => group.stage === stage).flatMap((group) => group.samples);
      const sum = (of: (sample: (typeof own)[number]) => number) => own.reduce((all, one) => all + of(one), 0);
      assert.equal(samples, own.length);
      assert.equal(
        caught,
        sum(({ outcome }) => Number(outcome === 'caught')),
      );
      assert.deepEqual([valid, tests], [sum(({ good }) => good), sum(({ of }) => of)]);
    }
    assert.ok(stages.some(({ caught }) => caught > 0));
    assert.ok(stages.every(({ low, high, caught, samples }) => low! <= caught / samples && high! >= caught / samples));
  });

  it('say how many samples of a step have each outcome, and why each sample has its reward', async () => {
    for (const { step, outcomes } of (await read<RunView>('runs/run')).steps) {
      const { groups } = await read<StepView>(`runs/run/steps/${step}`);
      const counts: Record<string, number> = {};
      for (const { outcome } of groups.flatMap(({ samples }) => samples)) counts[outcome] = (counts[outcome] ?? 0) + 1;
      assert.deepEqual(counts, outcomes);
    }
    const { turns } = await read<GroupView>('runs/run/steps/4/groups/0');
    for (const { tests, lost, terms } of turns) {
      const valid = tests.filter(({ outcome }) => outcome === 'valid' || outcome === 'caught').length;
      const reason = terms!.find(({ name }) => name === 'valid')!.reason!;
      const start = `tests that agree with the reference: ${valid || 'none'} of ${tests.length + lost}`;
      assert.ok(reason.startsWith(start), `${reason}; ${start}`);
    }
  });

  it('report unknown runs, steps, groups and paths', async () => {
    for (const [path, message] of [
      ['runs/other', /no run other/],
      ['runs/run/steps/99', /no step 99/],
      ['runs/run/steps/2/groups/99', /no group 99/],
      ['runs/run/nothing', /no resource/],
      ['elsewhere', /no resource/],
      ['runs/..%2f..', /run id/],
      ['runs/%ff', /not a valid part of a path/],
    ] as const)
      await assert.rejects(resources.read(path), message);
  });

  it('list a damaged run beside the other runs', async () => {
    await mkdir(join(world.folder, 'runs/bad'));
    await writeFile(join(world.folder, 'runs/bad/manifest.json'), '{}');
    const { runs } = await read<RunList>('runs');
    const states = Object.fromEntries(runs.map(({ id, state }) => [id, state]));
    assert.deepEqual(states, { bad: 'damaged', run: 'finished' });
    assert.match(runs.find(({ id }) => id === 'bad')!.problem!, /manifest\.json of run bad/);
  });
});

import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import type { Deps } from '../../chains/scope.js';
import type { Stage } from '../../core/schema/chain.js';
import type { SuiteVerdicts } from '../../core/schema/verdicts.js';
import type { Activities } from '../../method/activities.js';
import { type Doubles, memoryDoubles as doubles, SMALL_RUN } from '../support/doubles.js';
import { measure, runPipeline } from '../support/runs.js';

describe('the evaluation of a checkpoint', () => {
  let world: Doubles;
  let acts: Activities;
  beforeEach(async () => {
    world = await doubles();
    acts = createActivities(world.deps);
    await runPipeline(acts, 'teacher', { ...SMALL_RUN, schedule: { ...SMALL_RUN.schedule, generatorSteps: 3 } });
  });
  const checkpoint = { runId: 'teacher', name: 'latest' };

  it('measures every held-out problem, and shows that training helped', async () => {
    const trained = await measure(acts, { checkpoint, samples: 6 });
    const untrained = await measure(acts, { checkpoint, untrained: true, samples: 6 });
    const results = await world.deps.store.getJson(trained.results);
    assert.deepEqual(
      results.map(({ id, samples }) => [id, samples]),
      [30, 31, 32, 33, 34, 35].map((n) => [`add-${n}`, 6]),
    );
    const rate = (of: typeof trained) => of.metrics['pass@1']!;
    assert.ok(rate(trained) > rate(untrained), `${rate(trained)} > ${rate(untrained)}`);
    assert.equal(rate(trained), results.reduce((sum, { solved }) => sum + solved, 0) / 36);
  });

  it('gives the same programs in parts, and repeats only the part that was interrupted', async () => {
    const input = { checkpoint, samples: 2, temperature: 1 };
    const whole = await measure(acts, input);
    const sampled: unknown[] = [];
    const failing: Activities = {
      ...acts,
      async sampleChains(given) {
        sampled.push(given.shard);
        if (sampled.length === 3) throw new Error('killed');
        return acts.sampleChains(given);
      },
    };
    await assert.rejects(measure(failing, { ...input, part: 4 }), /killed/);
    const { results, artifacts } = await measure(acts, { ...input, part: 4 });
    assert.deepEqual([results, artifacts.chains], [whole.results, whole.artifacts.chains]);
    assert.deepEqual(
      sampled,
      [0, 1, 2].map((index) => ({ index, of: 3 })),
    );
  });

  it('draws a limited number of problems at random', async () => {
    const { results } = await measure(acts, { checkpoint, samples: 1, limit: 3 });
    const ids = (await world.deps.store.getJson(results)).map(({ id }) => id);
    assert.equal(new Set(ids).size, 3);
    assert.notDeepEqual(ids, ['add-30', 'add-31', 'add-32']);
  });

  it('judges tests, mutants and the programs of the base model', async () => {
    const { results, metrics, tokens } = await measure(acts, { checkpoint });
    for (const one of await world.deps.store.getJson(results)) {
      // the double has two mutants per reference: `x + n + 1` fails every test, the other fails only for x ≥ 3
      assert.equal(one.mutants, 2);
      assert.ok(one.killed === 2 ? one.valid > 0 : one.killed <= 1, JSON.stringify(one));
      assert.ok(one.valid <= one.written && one.inputs <= one.written);
    }
    assert.ok(metrics['attack rate']! > 0);
    assert.ok(tokens > 0);
  });

  it('lets every valid test vote for the best of several programs, even if a hidden test has the same input', async () => {
    const { store } = world.deps;
    const measured = await measure(acts, { checkpoint, samples: 2, limit: 1 });
    const [one] = await store.getJson(measured.artifacts.verdicts);
    const { run } = await acts.prepareSolving({ checkpoint, limit: 1, measures: true });
    const given = (origin: 'baseline' | 'generated') => ({ ...one!.suite[0]!, origin });
    const turn = (suite: number, corrected?: true) => ({
      turn: 0,
      tests: [{ args: [1], expected: 1, suite, ...(corrected && { corrected }) }],
      lost: 0,
    });
    const chosen = async (...turns: SuiteVerdicts['turns']): Promise<number> => {
      const judged: SuiteVerdicts = {
        problemId: one!.problemId,
        candidates: one!.candidates,
        suite: [given('baseline'), given('generated')],
        verdicts: [
          ['pass', 'fail'],
          ['fail', 'pass'],
        ],
        turns,
      };
      const verdicts = await store.putJson([judged]);
      const all = { run, chains: measured.artifacts.chains, hidden: verdicts, baseline: verdicts, attacks: verdicts };
      const { results } = await acts.measureEvaluation(all);
      return (await store.getJson(results))[0]!.chosen;
    };
    assert.equal(await chosen(turn(0)), 1, 'the hidden test was also written');
    assert.equal(await chosen(turn(1)), 0);
    assert.equal(await chosen(turn(1, true)), 0.5, 'a corrected test does not vote');
    assert.equal(await chosen(), 0.5);
  });

  it('measures a model without a run: its programs only, or also tests, and the stages that are named', async () => {
    const { store } = world.deps;
    for (const [input, stages, tests] of [
      [{ tests: false }, [1, 2, 3, 4, 5], false],
      [{ tests: false, preset: 'smollm2-135m' }, [5], false],
      [{ stages: [5] as Stage[] }, [5], true],
    ] as const) {
      const given = {
        model: 'tiny',
        source: 'tiny',
        quantization: 'int8' as const,
        limit: 2,
        samples: 1,
        temperature: 0,
      };
      const { artifacts, metrics, problems } = await measure(acts, { ...given, ...input });
      const [chain] = await store.getJson(artifacts.chains);
      assert.deepEqual([chain!.turns.map(({ stage }) => stage), problems], [stages, 2]);
      assert.equal('tests' in artifacts, tests);
      assert.equal(metrics['test validity'] !== undefined, tests);
      assert.ok(metrics['pass@1']! >= 0);
    }
  });

  it('quantizes the base that it measures, and writes only code for a public model', async () => {
    const opened: unknown[] = [];
    const { deps } = await doubles();
    const engine: Deps['engine'] = async (model, settings) => {
      opened.push(settings.quantization);
      const own = await deps.engine(model, settings);
      return Object.assign(own, { encode: (text: string) => [...text].map((char) => char.charCodeAt(0)) }); // no markers
    };
    const own = createActivities({ ...deps, engine });
    const prepared = await own.prepareSolving({ model: 'tiny', quantization: 'int4', measures: true, tests: false });
    assert.deepEqual([prepared.stages, new Set(opened)], [[5], new Set(['int4'])]);
    const { stages } = await own.prepareSolving({ model: 'tiny', stages: [1, 5], measures: true });
    assert.deepEqual(stages, [1, 5]);
  });

  it('repeats no finished work', async () => {
    const first = await measure(acts, { checkpoint });
    world.engine.calls.length = 0;
    assert.deepEqual(await measure(acts, { checkpoint }), first);
    assert.deepEqual(world.engine.calls, []);
  });
});

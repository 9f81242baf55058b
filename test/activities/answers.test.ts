// A run whose answers are all cut, or whose problems do not fit, reports this from its first step on in every output.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { createActivities } from '../../activities/index.js';
import { misfitOf, openReaders } from '../../chains/sample/problemFit.js';
import { openScope } from '../../chains/scope.js';
import { metricLines } from '../../cli/export/jsonl.js';
import { openDisplay } from '../../cli/run/watch.js';
import type { Ref } from '../../core/base/ref.js';
import { resolveConfig } from '../../core/config/presets.js';
import type { RunMetrics, StepMetrics } from '../../core/schema/metrics.js';
import type { ProblemSet, Rejected } from '../../core/schema/problem.js';
import type { RunProgress } from '../../core/schema/run.js';
import type { RunView } from '../../dashboard/api.js';
import { readRunRecords } from '../../dashboard/data/records.js';
import { openResources } from '../../dashboard/data/resources.js';
import { renderReport } from '../../dashboard/report.js';
import { openStore } from '../../store/openStore.js';
import type { ProgressUpdate } from '../../workflows/runState.js';
import { inProcess } from '../cli/support.js';
import {
  addProblem,
  type Doubles,
  doubles,
  FakeEngine,
  memoryDoubles,
  problemSet,
  SMALL_RUN,
} from '../support/doubles.js';
import { pluck } from '../support/pluck.js';
import { measure, runPipeline, solve } from '../support/runs.js';

const GENERATOR = /100 % of the generator's answers are cut off after 3 tokens: raise sampling\.maxNewTokens/;
const DISCRIMINATOR = /100 % of the discriminator's answers are cut off after 3 tokens: raise sampling\.maxTestTokens/;
const ALL = { answers: 80, cutRate: 1, emptyRate: 0, unfitRate: 0 };

describe('a run with only cut answers', () => {
  let world: Doubles;
  let shown: string; // the output of `train --watch` after the first step
  const logged: string[] = [];
  const heard: RunMetrics[] = [];

  before(async () => {
    world = await doubles({
      log: { info: () => undefined, warn: (_, message) => logged.push(message) },
      onMetrics: (_, metrics) => heard.push(metrics),
    });
    const stream = new PassThrough();
    const display = openDisplay(stream as never);
    let progress: RunProgress = { runId: 'cut', state: 'preparing', step: 0, totalSteps: 0 };
    const onProgress = (change: ProgressUpdate): void => {
      progress = { ...progress, ...change };
      if (progress.step <= 1) display.update(progress);
    };
    const sampling = { ...SMALL_RUN.sampling, maxNewTokens: 3, maxTestTokens: 3 };
    await runPipeline(createActivities(world.deps), 'cut', { ...SMALL_RUN, sampling }, { onProgress });
    shown = String(stream.read());
  });

  const bothIn = (text: string): void => {
    assert.match(text, GENERATOR);
    assert.match(text, DISCRIMINATOR);
  };

  it('records the cut answers of both roles in its first step', async () => {
    const first = heard.find((record): record is StepMetrics => record.kind === 'step' && record.step === 1)!;
    const { generator, discriminator } = first.answers!;
    assert.deepEqual(generator, { ...ALL, answers: 3 * 4 * 5 });
    assert.deepEqual([discriminator!.cutRate, discriminator!.answers], [1, 12]);
    assert.deepEqual(pluck(first.warnings!.slice(0, 2), 'role', 'kind', 'field'), [
      ['generator', 'cut', 'sampling.maxNewTokens'],
      ['discriminator', 'cut', 'sampling.maxTestTokens'],
    ]);
    bothIn(logged.join('\n'));
  });

  it('warns once for each role in `train --watch`', () => {
    bothIn(shown);
    assert.equal(shown.split('\n').filter((line) => line.startsWith('warning: 100 %')).length, 2);
  });

  it('warns in `status`, also after the run has ended', async () => {
    const { out } = await inProcess('status', 'cut', '--store', world.folder);
    bothIn(out);
    assert.match(out, /\(6 of 6 steps\)/);
    const { warnings } = JSON.parse((await inProcess('status', 'cut', '--store', world.folder, '--json')).out) as {
      warnings: { field: string }[];
    };
    assert.ok(warnings.some(({ field }) => field === 'sampling.maxTestTokens'));
  });

  it('shows a warning and a chart in the report', async () => {
    const page = await renderReport(await openStore(world.folder), 'cut');
    bothIn(page);
    assert.match(page, /"title":"Cut answers"/);
  });

  it('shows a warning and a chart over all steps in the dashboard', async () => {
    const resources = openResources(await openStore(world.folder));
    const { warnings, charts } = (await resources.read('runs/cut')) as RunView;
    bothIn(warnings.map(({ text }) => text).join('\n'));
    const chart = charts.find(({ id }) => id === 'answers.cutRate')!;
    assert.ok(chart.percent);
    for (const { points } of chart.lines) assert.ok(points.every(({ value }) => value === 1));
    assert.ok(chart.lines.some(({ name, points }) => name === 'generator' && points.some(({ step }) => step === 1)));
  });

  it('exports the shares of answers with its metrics', async () => {
    const store = await openStore(world.folder);
    const run = { id: 'cut', store, records: await readRunRecords(store, 'cut'), startedAt: 0 };
    for await (const [, content] of metricLines(run)) bothIn(String(content));
  });

  it('also counts the answers of evaluations', async () => {
    const evaluations = heard.filter((record) => record.kind === 'evaluation');
    assert.ok(evaluations.length > 2);
    for (const { answers } of evaluations) assert.equal(answers?.generator?.cutRate, 1);
    const { artifacts } = await measure(createActivities(world.deps), { checkpoint: { runId: 'cut', name: 'latest' } });
    assert.ok(artifacts.tests, 'the command counts them in these');
  });
});

describe('a run without cut answers', () => {
  it('records the shares of answers, but no warning', async () => {
    const steps: StepMetrics[] = [];
    const world = await memoryDoubles({ onMetrics: (_, record) => record.kind === 'step' && steps.push(record) });
    await runPipeline(createActivities(world.deps), 'run', SMALL_RUN);
    for (const { answers, warnings = [] } of steps) {
      assert.equal(answers!.generator!.cutRate, 0);
      assert.deepEqual(
        warnings.filter(({ kind }) => kind !== 'untrained'),
        [],
      );
    }
  });

  it('counts no answers of a random writer', async () => {
    const steps: StepMetrics[] = [];
    const world = await memoryDoubles({ onMetrics: (_, record) => record.kind === 'step' && steps.push(record) });
    const discriminator = { writer: 'random', expected: 'reference', trained: false };
    await runPipeline(createActivities(world.deps), 'run', { ...SMALL_RUN, discriminator });
    assert.ok(steps.length > 0);
    for (const { answers } of steps) assert.deepEqual(Object.keys(answers!), ['generator']);
  });
});

describe('problems that are too long for the context', () => {
  const long = (n: number, words: number) => ({ ...addProblem(n), description: `add ${n}${' word'.repeat(words)}` });
  const reason = /^the prompt has 25\d\d tokens, the model reads fewer than 1000: shorten the problem$/;
  let set: ProblemSet;
  let world: Doubles;
  const quarantine = async () =>
    JSON.parse(Buffer.from((await world.deps.store.readRunFile('run', 'quarantine.json'))!).toString()) as {
      quarantined: { id: string; reason: string }[];
    };
  beforeEach(async () => {
    set = problemSet();
    set.train.push(long(50, 500));
    set.test.unshift(long(51, 500));
    world = await memoryDoubles({ loadProblems: async () => set });
  });

  for (const [title, more] of [
    ['a problem file', { problems: 'own.jsonl' }],
    ['a problem file without the health gate', { problems: 'own.jsonl', healthGate: false }],
    ['built-in problems', {}],
  ] as const)
    it(`are quarantined with the reason: ${title}`, async () => {
      const updates: ProgressUpdate[] = [];
      const hooks = { onProgress: (change: ProgressUpdate) => updates.push(change) };
      await runPipeline(createActivities(world.deps), 'run', { ...SMALL_RUN, ...more }, hooks);
      const { quarantined } = await quarantine();
      assert.deepEqual(pluck(quarantined, 'id'), ['add-50', 'add-51']);
      for (const one of quarantined) assert.match(one.reason, reason);
      assert.ok(updates.some(({ quarantined }) => quarantined?.problems === 2 && quarantined.of === 24));
    });

  it('end the run after the record is written, if a split has no other problem', async () => {
    set.validation = [long(52, 500)];
    // happens before the configuration is known, so the run fails instead of waiting for a decision
    const onConfig = () => assert.fail('the run has begun');
    const run = runPipeline(createActivities(world.deps), 'run', SMALL_RUN, { onConfig });
    await assert.rejects(run, /no healthy problem is left for validation: 3 of .*add-50: the prompt has/);
    assert.equal((await quarantine()).quarantined.length, 3);
  });

  it('are found by the opening, by the prompts of later stages and by the prompt for tests', async () => {
    const config = resolveConfig({ ...SMALL_RUN, discriminator: { model: 'small' } });
    const small = new FakeEngine();
    small.info.contextLength = 500;
    const engine = async (model: string) => (model === 'small' ? small : world.engine);
    const scope = openScope({ ...world.deps, engine });
    const both = await openReaders(scope, config);
    const reasons = Array.from({ length: 1000 }, (_, i) => {
      const problem = { ...addProblem(1), description: 'x'.repeat(i) };
      const own = misfitOf({ generator: both.generator }, config, problem);
      return own ?? misfitOf({ ...both, discriminator: both.discriminator }, config, problem);
    });
    const kinds = reasons.map((reason) => reason?.replace(/\d+ tokens.*/, '').replace(/stage \d/, 'stage N'));
    const order = [undefined, 'the prompt for tests has ', 'the prompts up to stage N have ', 'the prompt has '];
    assert.deepEqual([...new Set(kinds)], order, 'the longer the problem is');
    const blind = { ...config, discriminator: { ...config.discriminator, enabled: false } };
    assert.equal((await openReaders(scope, blind)).discriminator, undefined);
  });

  it('are left out of evaluations and of `show`, which report them', async () => {
    const acts = createActivities(world.deps);
    const read = (skipped: Ref<Rejected[]> | undefined) => world.deps.store.getJson(skipped!);
    const shown = await solve(acts, { preset: 'tiny', limit: 2 });
    assert.equal(shown.problems, 2);
    assert.deepEqual(pluck(await read(shown.skipped), 'id'), ['add-51']);
    await runPipeline(acts, 'run', SMALL_RUN);
    const input = { checkpoint: { runId: 'run', name: 'latest' }, source: 'other.jsonl' };
    const own = await measure(acts, input);
    assert.deepEqual([own.problems, own.skipped], [22, undefined], 'the run has left them out already');
    set.train.push(addProblem(60)); // the file now has other contents
    const measured = await measure(acts, input);
    assert.equal(measured.problems, 23);
    const skipped = await read(measured.skipped);
    assert.deepEqual(pluck(skipped, 'id'), ['add-50', 'add-51']);
    for (const one of skipped) assert.match(one.reason, reason);
    set.test = [long(51, 500)];
    await assert.rejects(solve(acts, { preset: 'tiny' }), /tiny: no problems to solve: add-51: the prompt has/);
  });
});

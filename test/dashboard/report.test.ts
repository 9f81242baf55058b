// The report of a run is one complete file of limited size, and is safe whatever a model wrote.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { createActivities } from '../../activities/index.js';
import type { GauntletError } from '../../core/base/errors.js';
import { resolveConfig } from '../../core/config/presets.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import type { ReportContents, RunView, StepView } from '../../dashboard/api.js';
import { openResources, type Resources } from '../../dashboard/data/resources.js';
import { renderReport } from '../../dashboard/report.js';
import { layout } from '../../store/layout.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { openStore } from '../../store/openStore.js';
import { createRun, readMetrics, writeMetrics, writeResult } from '../../store/runs.js';
import { openDeps } from '../../workers/deps/deps.js';
import { DIGEST, refusal, withStore } from '../store/support.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { fakeDigest, HOSTILE, sampleData } from '../support/sample.js';

const FACTS = { modelDigest: fakeDigest('b'), dataDigest: fakeDigest('c'), codeVersion: '0.1.0' };

/** The contents of the elements with this name. */
const elements = (page: string, name: string): string[] =>
  [...page.matchAll(new RegExp(`<${name}[^>]*>([\\s\\S]*?)</${name}>`, 'g'))].map(([, text]) => text!);

const contentsOf = (page: string): ReportContents => JSON.parse(elements(page, 'script')[0]!) as ReportContents;

const runOf = (page: string): RunView => contentsOf(page).resources['runs/first'] as RunView;

describe('the report of a run', () => {
  let world: Doubles;
  let store: ObjectStore;
  let resources: Resources;
  let page: string;

  before(async () => {
    world = await doubles();
    await runPipeline(createActivities(world.deps), 'run', SMALL_RUN);
    store = await openStore(world.folder);
    resources = openResources(store);
    page = await renderReport(store, 'run');
  });

  it('is the same if a worker thread writes it, and an error keeps its code', async () => {
    const { deps, close } = await openDeps({ store: world.folder });
    assert.equal(await deps.renderReport!('run'), page);
    await assert.rejects(deps.renderReport!('nowhere'), (error: GauntletError) => error.code === 'NOT_FOUND');
    await close();
  });

  it('embeds the run, its steps and its groups, the newest first, as the server sends them', async () => {
    const { run, resources: embedded } = contentsOf(page);
    assert.equal(run, 'run');
    const expected = ['runs/run', 'runs/run/stages'];
    for (let step = 6; step >= 1; step--) {
      expected.push(`runs/run/steps/${step}`);
      const { groups } = (await resources.read(`runs/run/steps/${step}`)) as StepView;
      expected.push(...groups.map(({ index }) => `runs/run/steps/${step}/groups/${index}`));
    }
    assert.deepEqual(Object.keys(embedded), expected);
    for (const path of expected)
      assert.equal(JSON.stringify(embedded[path]), JSON.stringify(await resources.read(path)), path);
  });

  it('leaves out the oldest rollouts if all of them exceed its size limit, and keeps the run', async () => {
    const { resources: all } = contentsOf(page);
    const sizeOf = (given: Record<string, unknown>): number =>
      Object.entries(given)
        .slice(2) // the resources of the run and its stages
        .reduce((sum, entry) => sum + Buffer.byteLength(entry.map((each) => JSON.stringify(each)).join(':')), 0);
    for (const share of [0, 0.1, 0.5, 0.9]) {
      const limit = Math.floor(share * sizeOf(all));
      const { resources: some, rolloutBytes } = contentsOf(await renderReport(store, 'run', limit));
      assert.equal(rolloutBytes, limit);
      assert.deepEqual(some['runs/run'], all['runs/run']);
      const [paths, size] = [Object.keys(some), sizeOf(some)];
      assert.ok(size <= limit && size >= limit - sizeOf(all) / 4, `${size} of ${limit} bytes`);
      const steps = paths.flatMap((path) => /\/steps\/(\d+)$/.exec(path)?.[1] ?? []).map(Number);
      assert.deepEqual(steps, [6, 5, 4, 3, 2, 1].slice(0, steps.length));
    }
  });

  it('lets other work of the process continue between two groups', async () => {
    let isDone = false;
    let turns = 0;
    const rendering = renderReport(store, 'run').finally(() => {
      isDone = true;
    });
    for (; !isDone; turns++) await setImmediate();
    await rendering;
    const groups = Object.keys(contentsOf(page).resources).filter((path) => /groups/.test(path)).length;
    assert.ok(turns >= groups, `${turns} turns of the event loop for ${groups} groups`);
  });

  it('has a policy that allows only its own script and style, and names nothing outside', () => {
    const hashes = ['script', 'style'].map((name) => {
      const text = elements(page, name).at(-1)!;
      return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    });
    const [, policy] = /<meta http-equiv="content-security-policy" content="([^"]+)">/.exec(page)!;
    assert.equal(
      policy,
      `default-src 'none'; script-src ${hashes[0]}; style-src ${hashes[1]}; img-src data:; base-uri 'none'; form-action 'none'`,
    );
    assert.ok(page.indexOf('content-security-policy') < page.indexOf('<style>'));
    const markup = page.replace(/<(script|style)[^>]*>[\s\S]*?<\/\1>/g, '');
    assert.doesNotMatch(markup, /<script|\s(src|href)="(?!data:,")/);
  });

  it('leaves out rollouts that the store has lost', async () => {
    const broken = await doubles();
    await runPipeline(createActivities(broken.deps), 'run', SMALL_RUN);
    const records = await readMetrics(broken.deps.store, 'run');
    const artifacts = (step: number) =>
      records.find((record): record is StepMetrics => record.kind === 'step' && record.step === step)!.artifacts;
    await rm(join(broken.folder, layout.blob(artifacts(6).verdicts)));
    await writeFile(join(broken.folder, layout.blob(artifacts(5).verdicts)), 'damaged');
    const rendered = await renderReport(await openStore(broken.folder), 'run');
    const steps = Object.keys(contentsOf(rendered).resources).filter((path) => /steps\/\d+$/.test(path));
    assert.deepEqual(
      steps,
      [4, 3, 2, 1].map((step) => `runs/run/steps/${step}`),
    );
  });

  it('shows a run before its first step, while it trains, and after its end, and refuses damaged records', () =>
    withStore(async (own) => {
      const { config, metrics, result, chain } = sampleData();
      await assert.rejects(renderReport(own, 'first'), refusal('NOT_FOUND', 'first'));
      await createRun(own, 'first', { ...FACTS, config });
      const { state, step, rates, example } = runOf(await renderReport(own, 'first'));
      assert.deepEqual(
        { state, step, rates, example },
        { state: 'unfinished', step: 0, rates: [], example: undefined },
      );
      const lost = { config: DIGEST, problems: DIGEST, verdicts: DIGEST, replayBuffer: DIGEST, trajectories: DIGEST };
      for (const [i, record] of metrics.entries())
        if (record.kind === 'step') await writeMetrics(own, 'first', record.step, { ...record, artifacts: lost });
        else await writeMetrics(own, 'first', `${record.step}-${i}`, record);
      assert.equal(runOf(await renderReport(own, 'first')).step, 60);
      await writeResult(own, 'first', { ...result, warmStart: { ...result.before, passRate: 0.75 } }, chain);
      const ended = runOf(await renderReport(own, 'first'));
      assert.equal(ended.state, 'finished');
      assert.deepEqual(ended.rates[0], { title: 'Solved, sampled', before: 0.6523, warmStart: 0.75, after: 0.9323 });
      assert.equal(ended.rates.length, 4);
      await own.writeRunFile('first', 'metrics/61.json', '{"kind": "step"}');
      await assert.rejects(renderReport(own, 'first'), refusal('CORRUPT_ARTIFACT', 'first'));
    }));

  it('shows one whole chain, with the rewards at the stages that have tests', () =>
    withStore(async (own) => {
      const { config, result, chain } = sampleData();
      for (const stage of [0, 2]) Object.assign(chain.stages[stage]!, { tests: [], lost: 0 });
      chain.rewards.discriminator = [0.11, 0.22, 0.33];
      chain.outcomes.discriminator = ['valid', 'invalid', 'caught'];
      await createRun(own, 'first', { ...FACTS, config });
      await writeResult(own, 'first', result, chain);
      const example = runOf(await renderReport(own, 'first')).example!;
      assert.deepEqual(
        example.stages.map(({ reward, outcome }) => [reward, outcome]),
        [
          [undefined, undefined],
          [0.11, 'valid'],
          [undefined, undefined],
          [0.22, 'invalid'],
          [0.33, 'caught'],
        ],
      );
      assert.deepEqual([example.by, example.reward, example.outcome], [result.best, 0.41, 'failed']);
      assert.deepEqual(
        example.stages.map(({ title }) => title),
        ['informal reasoning', 'structured reasoning', 'pseudocode', 'constraints and invariants', 'executable code'],
      );
      assert.deepEqual(
        example.stages.flatMap(({ tests }) => tests.map(({ outcome }) => outcome)),
        ['valid', 'valid', 'valid', 'valid', 'valid', 'caught'],
      );
      assert.deepEqual(example.given, [{ call: 'solve([4, 9, 2], 3)', expected: '9', verdict: 'pass' }]);
    }));

  it('embeds hostile text as data', () =>
    withStore(async (own) => {
      const { result, chain } = sampleData();
      const config = resolveConfig({ model: HOSTILE });
      await createRun(own, 'first', { ...FACTS, config, codeVersion: '</script>\u202e' });
      await writeResult(own, 'first', result, chain);
      const rendered = await renderReport(own, 'first');
      assert.equal(runOf(rendered).model, HOSTILE);
      assert.doesNotMatch(elements(rendered, 'script')[0]!, /</);
      assert.equal(rendered.match(/<script/g)!.length - page.match(/<script/g)!.length, 0);
      assert.doesNotMatch(rendered, /<img/);
    }));
});

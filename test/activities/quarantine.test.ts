import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { createActivities } from '../../activities/index.js';
import type { Problem, ProblemSet } from '../../core/schema/problem.js';
import { readResult } from '../../store/runs.js';
import { addProblem, type Doubles, memoryDoubles as doubles, problemSet, SMALL_RUN } from '../support/doubles.js';
import { measure, runPipeline } from '../support/runs.js';

const wrong = (n: number): Problem => ({ ...addProblem(n), referenceSolution: 'def solve(x):\n    return x + 99' });
const IN_FILE = { ...SMALL_RUN, problems: 'own.jsonl' };

describe('the health gate', () => {
  let world: Doubles;
  let set: ProblemSet;
  beforeEach(async () => {
    set = problemSet();
    set.train.splice(1, 0, wrong(50));
    set.test.push(wrong(51));
    world = await doubles({ loadProblems: async () => set });
  });
  afterEach(() => rm(world.folder, { recursive: true, force: true }));

  const record = async (): Promise<unknown> =>
    JSON.parse(Buffer.from((await world.deps.store.readRunFile('run', 'quarantine.json'))!).toString());

  it('removes problems whose reference fails, in every split, and records the reason', async () => {
    const acts = createActivities(world.deps);
    const { run } = await acts.prepareRun({ runId: 'run', input: IN_FILE });
    const out = await acts.quarantineProblems({ run });
    assert.deepEqual([out.total, out.quarantined], [24, 2]);
    assert.deepEqual(await world.deps.store.getJson(out.problems), problemSet());
    const reason = 'baseline test 1 fails: expected 50, the reference answers 99';
    assert.deepEqual(await record(), {
      problems: run.problems,
      total: 24,
      quarantined: [
        { id: 'add-50', reason },
        { id: 'add-51', reason: reason.replace('50', '51') },
      ],
    });
  });

  it('records the bad records of the file, also one that shares its id with a good problem', async () => {
    const reason = 'line 2: field `description`: must not be empty';
    set.rejected = [{ id: addProblem(1).id, reason }];
    const acts = createActivities(world.deps);
    const { run } = await acts.prepareRun({ runId: 'run', input: IN_FILE });
    const out = await acts.quarantineProblems({ run });
    assert.deepEqual([out.total, out.quarantined], [25, 3]);
    assert.deepEqual(await world.deps.store.getJson(out.problems), problemSet());
    const { quarantined } = (await record()) as { quarantined: { id: string; reason: string }[] };
    assert.deepEqual(quarantined[0], { id: addProblem(1).id, reason });
  });

  it('removes problems without a reference, unless the run needs none; then they need a test', async () => {
    const { referenceSolution: _, ...open } = addProblem(60);
    set.train.push(open, { ...open, id: 'untested', baselineTests: [] });
    const acts = createActivities(world.deps);
    const reasons = async (runId: string, input: object): Promise<Record<string, string>> => {
      const { run } = await acts.prepareRun({ runId, input: { ...IN_FILE, ...input } });
      await acts.quarantineProblems({ run });
      const text = Buffer.from((await world.deps.store.readRunFile(runId, 'quarantine.json'))!).toString();
      const { quarantined } = JSON.parse(text) as { quarantined: { id: string; reason: string }[] };
      return Object.fromEntries(quarantined.map(({ id, reason }) => [id, reason]));
    };
    for (const healthGate of [true, false]) {
      const given = await reasons(`given-${healthGate}`, { healthGate });
      assert.match(given['add-60']!, /^no reference solution: give one with --references/);
      assert.match(given.untested!, /^no reference solution: give one/);
      const none = await reasons(`none-${healthGate}`, { healthGate, reference: 'none' });
      assert.equal(none['add-60'], undefined);
      assert.equal(none.untested, 'no reference solution, and no test with an expected value');
    }
  });

  it('runs once: a later attempt reuses the record', async () => {
    const acts = createActivities(world.deps);
    const { run } = await acts.prepareRun({ runId: 'run', input: IN_FILE });
    const first = await acts.quarantineProblems({ run });
    world.sandbox.run = async () => assert.fail('the sandbox was asked again');
    assert.equal((await acts.quarantineProblems({ run })).problems, first.problems);
    await world.deps.store.writeRunFile('run', 'quarantine.json', '{');
    await assert.rejects(acts.quarantineProblems({ run }), /quarantine\.json of run run is damaged/);
  });

  it('keeps its verdicts for other runs with equal problems, limits and sandbox', async () => {
    const acts = createActivities(world.deps);
    const examined = async (runId: string, fields: object = {}): Promise<{ programs: number; record: unknown }> => {
      const { run } = await acts.prepareRun({ runId, input: { ...IN_FILE, ...fields } });
      let programs = 0;
      const runPrograms = world.sandbox.run;
      world.sandbox.run = (jobs) => {
        programs += jobs.length;
        return runPrograms.call(world.sandbox, jobs as never) as never;
      };
      await acts.quarantineProblems({ run });
      world.sandbox.run = runPrograms;
      const { quarantined } = JSON.parse(
        Buffer.from((await world.deps.store.readRunFile(runId, 'quarantine.json'))!).toString(),
      );
      return { programs, record: quarantined };
    };
    const first = await examined('first');
    assert.equal(first.programs, 48);
    assert.deepEqual(await examined('second'), { programs: 0, record: first.record });
    assert.equal((await examined('slower', { limits: { cpuSeconds: 3 } })).programs, 48);
    set.test.push(wrong(53));
    assert.equal((await examined('third')).programs, 50);
  });

  it('fails if a split has no healthy problem', async () => {
    set.validation = [wrong(52)];
    const acts = createActivities(world.deps);
    const { run } = await acts.prepareRun({ runId: 'run', input: IN_FILE });
    await assert.rejects(
      acts.quarantineProblems({ run }),
      /no healthy problem is left for validation: 3 of 21 are quarantined, e\.g\. add-50: baseline test 1 fails/,
    );
  });

  it('leaves the example of a run to its healthy problems, without the file, which may have moved', async () => {
    set.test.reverse(); // the quarantined one is the first
    let isThere = true;
    world.deps.loadProblems = async () => {
      assert.ok(isThere, 'the file is read again');
      isThere = false;
      return set;
    };
    await runPipeline(createActivities(world.deps), 'run', IN_FILE);
    assert.equal((await readResult(world.deps.store, 'run')).chain?.problemId, 'add-35');
  });

  it('leaves out the same problems when a checkpoint is measured, but not when its problems are solved', async () => {
    const acts = createActivities(world.deps);
    await runPipeline(acts, 'run', IN_FILE);
    const input = { checkpoint: { runId: 'run', name: 'latest' }, source: 'own.jsonl', split: 'test' as const };
    const ids = async (more: object): Promise<string[]> => {
      const { run } = await acts.prepareSolving({ ...input, ...more });
      return (await world.deps.store.getJson(run.problems)).test.map(({ id }) => id);
    };
    const healthy = problemSet().test.map(({ id }) => id);
    assert.deepEqual(await ids({ gateOf: 'run' }), healthy);
    assert.deepEqual(await ids({}), [...healthy, 'add-51']);
    await runPipeline(acts, 'ungated', { ...IN_FILE, healthGate: false });
    const checkpoint = { runId: 'ungated', name: 'latest' };
    const both = { samples: 1, source: 'own.jsonl', split: 'test', gateOf: 'run' } as const;
    const measured = [await measure(acts, { ...both, ...input }), await measure(acts, { ...both, checkpoint })];
    assert.deepEqual(
      measured.map(({ problems }) => problems),
      [healthy.length, healthy.length],
    );
    set.test.push(addProblem(60)); // now another file
    assert.deepEqual(await ids({ gateOf: 'run' }), [...healthy, 'add-51', 'add-60']);
  });

  it('checks problem files, but not the shipped problems', async () => {
    const acts = createActivities(world.deps);
    await runPipeline(acts, 'run', IN_FILE);
    assert.equal(((await record()) as { total: number }).total, 24);
    await runPipeline(acts, 'shipped', SMALL_RUN);
    assert.equal(await world.deps.store.readRunFile('shipped', 'quarantine.json'), undefined);
  });
});

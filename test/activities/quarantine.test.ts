import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import type { Problem, ProblemSet } from '../../core/schema/problem.js';
import { ensureImage } from '../../sandbox/docker/image.js';
import { readResult } from '../../store/runs.js';
import { openDeps } from '../../workers/deps/deps.js';
import { temporaryFolder, writeInto } from '../infra/support.js';
import { requireDocker } from '../sandbox/docker.js';
import {
  addProblem,
  answerWith,
  type Doubles,
  memoryDoubles as doubles,
  problemSet,
  SMALL_RUN,
} from '../support/doubles.js';
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

  const record = async (runId = 'run'): Promise<unknown> =>
    JSON.parse(Buffer.from((await world.deps.store.readRunFile(runId, 'quarantine.json'))!).toString());

  const out = async (runId: string): Promise<string[]> =>
    ((await record(runId)) as { quarantined: { id: string }[] }).quarantined.map(({ id }) => id);

  it('removes problems whose reference fails from every split, and records the reason', async () => {
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

  it('records the bad records of the file, even one that has the id of a good problem', async () => {
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

  it('removes problems without a reference; if the run needs no references, it removes those without a test', async () => {
    const { referenceSolution: _, ...open } = addProblem(60);
    set.train.push(open, { ...open, id: 'untested', baselineTests: [] });
    const acts = createActivities(world.deps);
    const reasons = async (runId: string, input: object): Promise<Record<string, string>> => {
      const { run } = await acts.prepareRun({ runId, input: { ...IN_FILE, ...input } });
      await acts.quarantineProblems({ run });
      const { quarantined } = (await record(runId)) as { quarantined: { id: string; reason: string }[] };
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

  it('runs once, because later attempts reuse its record', async () => {
    const acts = createActivities(world.deps);
    const { run } = await acts.prepareRun({ runId: 'run', input: IN_FILE });
    const first = await acts.quarantineProblems({ run });
    world.sandbox.run = async () => assert.fail('the sandbox was asked again');
    assert.equal((await acts.quarantineProblems({ run })).problems, first.problems);
    await world.deps.store.writeRunFile('run', 'quarantine.json', '{');
    await assert.rejects(acts.quarantineProblems({ run }), /quarantine\.json of run run is damaged/);
  });

  it('keeps its verdicts for other runs with equal problems, limits and sandbox, unless a time limit decided', async () => {
    const acts = createActivities(world.deps);
    /** The number of programs that the gate runs, and the problems that it finds. */
    const examined = async (runId: string, fields: object = {}, again?: boolean): Promise<[number, string[]]> => {
      const { run } = await acts.prepareRun({ runId, input: { ...IN_FILE, ...fields } });
      const before = world.sandbox.jobs.length;
      await acts.quarantineProblems({ run, ...(again && { again }) });
      return [world.sandbox.jobs.length - before, await out(runId)];
    };
    const both = ['add-50', 'add-51'];
    assert.deepEqual(await examined('first'), [48, both]);
    assert.deepEqual(await examined('second'), [0, both]);
    assert.deepEqual(await examined('slower', { limits: { cpuSeconds: 3 } }), [48, both]);
    assert.deepEqual(await examined('strict', { containers: { isolation: 'strict' } }), [48, both]);
    assert.deepEqual(await examined('again', { healthGate: 'again' }, true), [48, both]);
    assert.deepEqual(await examined('after'), [0, both]);
    const details = { image: 'sha256:1', code: '1' };
    world.deps.environment = async () => ({ facts: { backend: 'docker' }, details });
    assert.deepEqual(await examined('image'), [48, both]);
    details.code = '2';
    assert.deepEqual(await examined('new-code'), [0, both]);
    details.image = 'sha256:2';
    assert.deepEqual(await examined('other-image'), [48, both]);
    const slow = { ...addProblem(53), referenceSolution: 'def solve(x):\n    while True: pass' };
    set.test.splice(0, 0, slow);
    for (const [run, programs] of [
      ['third', 50],
      ['fourth', 2],
    ] as const)
      assert.deepEqual(await examined(run), [programs, ['add-50', 'add-53', 'add-51']]);
    world.sandbox.run = answerWith((_, [x]) => ({ kind: 'value', value: Number(x) + 53 })); // simulates a faster machine
    assert.deepEqual((await examined('fifth'))[1], both);
    world.sandbox.run = async () => assert.fail('the sandbox was asked again');
    assert.deepEqual((await examined('sixth'))[1], both);
  });

  it('examines problems again in another image, even if only the image behind a tag changed', async function () {
    const docker = await requireDocker(this);
    const [tag, from] = ['gauntlet-extra:1', await ensureImage(docker, 'none', console.log)];
    const referenceSolution = 'import extra\ndef solve(x):\n    return x + extra.N';
    set.test = [addProblem(2), { ...addProblem(1), id: 'needy', referenceSolution }];
    const quarantined = async (runId: string, image: string | null): Promise<string[]> => {
      const { deps, close } = await openDeps({ store: temporaryFolder(), sandbox: 'docker', say: () => undefined });
      const acts = createActivities({ ...world.deps, sandbox: deps.sandbox, environment: deps.environment! });
      const { run } = await acts.prepareRun({ runId, input: { ...IN_FILE, containers: { image } } });
      await acts.quarantineProblems({ run }).finally(close);
      return out(runId);
    };
    const context = temporaryFolder({ Dockerfile: `FROM ${from}\nENV PYTHONPATH=/own\nCOPY extra.py /own/\n` });
    for (const [n, found] of [
      [1, ['add-50']],
      [2, ['add-50', 'needy']],
    ] as const) {
      writeInto(context, 'extra.py', `N = ${n}`);
      const stream = await docker.buildImage({ context, src: ['Dockerfile', 'extra.py'] }, { t: tag });
      await new Promise((resolve) => docker.modem.followProgress(stream, resolve));
      assert.deepEqual(await quarantined(`without-${n}`, null), ['add-50', 'needy']);
      assert.deepEqual(await quarantined(`with-${n}`, tag), found);
      await docker.getImage(tag).remove();
    }
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

  it('takes the example of a run from its healthy problems, even if the problem file has moved', async () => {
    set.test.reverse(); // the quarantined problem is the first one
    let isThere = true;
    world.deps.loadProblems = async () => {
      assert.ok(isThere, 'the file is read again');
      isThere = false;
      return set;
    };
    await runPipeline(createActivities(world.deps), 'run', IN_FILE);
    assert.equal((await readResult(world.deps.store, 'run')).chain?.problemId, 'add-35');
  });

  it('leaves out the same problems when a checkpoint is measured, but not when problems are solved', async () => {
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
    set.test.push(addProblem(60)); // the file now has other contents
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

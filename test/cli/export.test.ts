// Reads the output of `gauntlet export` with the other tools' own readers. GAUNTLET_PYTHON names a Python that has them.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import { EXIT } from '../../cli/terminal/exitCodes.js';
import type { Ref } from '../../core/base/ref.js';
import { countOutcomes, type Outcome } from '../../core/rewards/outcomes.js';
import type { ProblemResult } from '../../core/schema/evaluation.js';
import type { GroupView, RunView, StepView } from '../../dashboard/api.js';
import { openResources, type Resources } from '../../dashboard/data/resources.js';
import { openStore } from '../../store/openStore.js';
import { NATIVE_PYTHON } from '../sandbox/native.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { pluck } from '../support/pluck.js';
import { runPipeline } from '../support/runs.js';
import { findable, needTemporal, startServer, workersOver } from '../workflows/server.js';
import { gauntlet, inProcess, removeFolders, temporaryFolder } from './support.js';

const REQUIREMENTS = 'test/support/requirements-exports.txt';

/** A hook that skips tests if a Python package is missing. */
const needs = (name: string) =>
  function (this: Mocha.Context): void {
    if (spawnSync(NATIVE_PYTHON, ['-c', `import ${name}`]).status === 0) return;
    const way = `install ${REQUIREMENTS} into an environment and name its Python with GAUNTLET_PYTHON`;
    console.log(`      skipped: ${NATIVE_PYTHON} has no ${name}; ${way}`);
    this.skip();
  };

const readBack = <T>(format: string, path: string): T =>
  JSON.parse(execFileSync(NATIVE_PYTHON, ['test/support/readExports.py', format, path], { encoding: 'utf8' })) as T;

describe('gauntlet export', () => {
  let world: Doubles;
  let resources: Resources;
  let out: string;
  const read = async <T>(path: string): Promise<T> => (await resources.read(path)) as T;
  const exported = async (...argv: string[]) => {
    const ended = await inProcess('export', 'run', '--store', world.folder, '--out', out, ...argv);
    assert.equal(ended.code, EXIT.ok, ended.err);
    return ended;
  };

  before(async () => {
    world = await doubles();
    await runPipeline(createActivities(world.deps), 'run', SMALL_RUN);
    resources = openResources(await openStore(world.folder));
  });
  beforeEach(async () => {
    out = join(await temporaryFolder(), 'out');
  });
  after(async () => {
    await removeFolders();
  });

  describe('in the format jsonl', () => {
    before(needs('json'));

    it('writes every record of the metrics and one line per sample', async () => {
      const { out: printed } = await exported('--format', 'jsonl', '--rollouts', '--json');
      assert.deepEqual(JSON.parse(printed), {
        run: 'run',
        format: 'jsonl',
        folder: out,
        files: ['metrics.jsonl', 'rollouts.jsonl'],
      });
      const metrics = readBack<Record<string, unknown>[]>('jsonl', join(out, 'metrics.jsonl'));
      const { steps } = await read<RunView>('runs/run');
      const recorded = metrics.filter(({ kind }) => kind === 'step');
      assert.deepEqual(
        recorded.map(({ step, role, reward }) => ({ step, role, reward })),
        steps.map(({ step, role, reward }) => ({ step, role, reward })),
      );
      assert.ok(metrics.some(({ kind }) => kind === 'evaluation') && metrics.every(({ run }) => run === 'run'));
      const rollouts = readBack<Record<string, unknown>[]>('jsonl', join(out, 'rollouts.jsonl'));
      const counts = (lines: Record<string, unknown>[]) =>
        countOutcomes(lines.map(({ outcome }) => outcome as Outcome));
      for (const { step } of steps) {
        const { groups } = await read<StepView>(`runs/run/steps/${step}`);
        const expected = groups.flatMap(({ samples, problemId }) => samples.map(({ reward }) => [problemId, reward]));
        const lines = rollouts.filter((line) => line.step === step);
        assert.deepEqual(pluck(lines, 'problem', 'reward'), expected);
        assert.deepEqual(counts(lines), recorded.find((record) => record.step === step)!.outcomes);
      }
      const { programs } = await read<GroupView>('runs/run/steps/2/groups/0');
      const first = rollouts.find(({ step }) => step === 2)! as { program: string; tests: { verdict: string }[] };
      assert.equal(first.program, programs[0]!.program);
      assert.deepEqual(pluck(first.tests, 'verdict'), programs[0]!.verdicts);
    });

    it('replaces an earlier export only with --overwrite, and never replaces other files', async () => {
      const again = (...argv: string[]) =>
        inProcess('export', 'run', '--store', world.folder, '--format', 'jsonl', ...argv);
      await exported('--format', 'jsonl');
      assert.match((await again('--out', out)).err, /^error: --out .*out: it exists; .* --overwrite \[BAD_INPUT\]\n$/);
      assert.equal((await again('--out', out, '--overwrite')).code, EXIT.ok);
      const other = await temporaryFolder({ 'notes.txt': 'mine' });
      assert.match((await again('--out', other, '--overwrite')).err, /it exists and is no export \[BAD_INPUT\]/);
      assert.equal(readFileSync(join(other, 'notes.txt'), 'utf8'), 'mine');
      const rollouts = await again('--out', join(out, 'x'), '--format', 'tensorboard', '--rollouts');
      assert.match(rollouts.err, /^error: --rollouts needs --format jsonl \[BAD_INPUT\]\n$/);
    });
  });

  describe('in the format tensorboard', () => {
    before(needs('tensorboard'));

    it('writes the scalars of each role and split, and the example as a code block', async () => {
      await exported('--format', 'tensorboard');
      type Run = {
        scalars: Record<string, [time: number, step: number, value: number][]>;
        texts: Record<string, string[]>;
      };
      const runs = readBack<Record<string, Run>>('tensorboard', out);
      const { charts } = await read<RunView>('runs/run');
      let compared = 0;
      for (const { id, lines } of charts)
        for (const { name, points } of lines) {
          const scalars = runs[name]!.scalars[id.replace('.', '/')]!;
          assert.deepEqual(
            scalars.map(([, step, value]) => [step, value]),
            points.map(({ step, value }) => [step, Math.fround(value)]),
          );
          const times = scalars.map(([time]) => time);
          assert.deepEqual(
            times,
            times.toSorted((a, b) => a - b),
          );
          compared += points.length;
        }
      assert.ok(compared > 100, `${compared} points`);
      const [example] = runs.test!.texts.example!;
      assert.match(example!, /problem add-\d+/);
      assert.ok(example!.split('\n').every((line) => line.startsWith('    ')));
    });
  });

  describe('in the format inspect', () => {
    before(function () {
      needTemporal(this);
      needs('inspect_ai').call(this);
    });

    /** The output of `gauntlet evaluate` for the best checkpoint. */
    async function evaluated(): Promise<{ metrics: Record<string, { value: number }>; results: Ref<ProblemResult[]> }> {
      const host = findable(await startServer());
      const workers = await workersOver(host.server, world);
      const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = process.env;
      const argv = ['evaluate', 'run', '--samples', '3', '--store', world.folder, '--json', '--out', `${out}.samples`];
      const ended = await gauntlet(argv, { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE });
      await workers.shutdown();
      await host.close();
      assert.equal(ended.code, EXIT.ok, ended.err);
      return JSON.parse(ended.out);
    }

    it('writes the evaluations of checkpoints with every program and its score', async () => {
      const none = await inProcess('export', 'run', '--store', world.folder, '--format', 'inspect', '--out', out);
      assert.match(
        none.err,
        /^error: run 'run' has no recorded evaluation: .* npx gauntlet evaluate run --store .* \[NOT_FOUND\]/,
      );
      const { metrics, results } = await evaluated();
      await exported('--format', 'inspect');
      type Sample = { id: string; epoch: number; roles: string[]; completion: string; score: string; answer: string };
      type Log = { model: string; status: string; metrics: object; samples: Sample[] };
      const [log, ...others] = readBack<Log[]>('inspect', out);
      const { best } = (await read<RunView>('runs/run'))!;
      assert.deepEqual([others, log!.model, log!.status], [[], `gauntlet/run/${best}`, 'success']);
      assert.deepEqual(
        log!.metrics,
        Object.fromEntries(Object.entries(metrics).map(([name, { value }]) => [name, value])),
      );
      const problems = await world.deps.store.getJson(results);
      assert.equal(log!.samples.length, 3 * problems.length);
      const samples = (await readFile(`${out}.samples`, 'utf8'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { task_id: string; solution: string });
      assert.equal(samples.length, 3 * problems.length);
      for (const { id, solved } of problems) {
        const own = log!.samples.filter((sample) => sample.id === id);
        assert.equal(own.filter(({ score }) => score === 'C').length, solved, id);
        assert.deepEqual(
          pluck(
            samples.filter(({ task_id }) => task_id === id),
            'solution',
          ),
          own.map(({ answer }) => answer),
        );
        for (const { roles, completion, answer } of own) {
          assert.equal(roles.at(-1), 'assistant');
          assert.ok(completion.includes(answer));
        }
      }
    });
  });
});

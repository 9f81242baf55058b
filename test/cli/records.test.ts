// Commands that read a store: checkpoints, verify, gc, report, table and chain.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { NamespaceNotFoundError, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import { createActivities } from '../../activities/index.js';
import { openRuns } from '../../cli/commands/gc.js';
import { checkIsRun } from '../../cli/run/executions.js';
import { meanPassAtK } from '../../cli/run/solving.js';
import { endedFrom } from '../../cli/run/training.js';
import { chainText } from '../../cli/terminal/chainText.js';
import { EXIT } from '../../cli/terminal/exitCodes.js';
import { describeError, duration, failureOf, paint, percent, printable, tableText } from '../../cli/terminal/output.js';
import { resultTable } from '../../cli/terminal/results.js';
import { ERROR_CODES, GauntletError } from '../../core/base/errors.js';
import { enterEnvironment, readEnvironments } from '../../store/environments.js';
import { openStore } from '../../store/openStore.js';
import { readResult } from '../../store/runs.js';
import type { Verified } from '../../store/verify.js';
import { doubles, TINIEST_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { requireS3 } from '../support/s3Server.js';
import { inProcess, madeRun, RESULT, removeFolders, temporaryFolder, VIEW, withEnvironment } from './support.js';

const rowsOf = (text: string): string[][] =>
  stripVTControlCharacters(text)
    .split('\n')
    .filter((line) => line.startsWith('│'))
    .map((line) =>
      line
        .split('│')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

describe('a table', () => {
  it('has no rules between rows, and no column without a value', () => {
    const lines = stripVTControlCharacters(
      tableText(
        ['a', 'b', 'c'],
        [
          [1, '–', '–'],
          [2, '–', 3],
        ],
      ),
    ).split('\n');
    assert.deepEqual(lines.slice(1, 5), ['│ a │ c │', '├───┼───┤', '│ 1 │ – │', '│ 2 │ 3 │']);
  });
});

describe('gauntlet checkpoints', () => {
  let folder: string;
  let store: Awaited<ReturnType<typeof madeRun>>['store'];
  before(async () => {
    ({ folder, store } = await madeRun());
  });
  after(removeFolders);

  const checkpoints = (...argv: string[]) => inProcess('checkpoints', ...argv, '--store', folder);

  it('lists checkpoints in training order (list)', async () => {
    const { out } = await checkpoints('list');
    assert.deepEqual(rowsOf(out).slice(1), [
      ['checkpoint_stage_0_epoch_0', '0', '0.100', '70.0 %', '72.0 %', '60.0 %'],
      ['checkpoint_stage_1_epoch_1 (best) (latest)', '4', '0.400', '70.0 %', '72.0 %', '60.0 %'],
    ]);
    const json = JSON.parse((await checkpoints('list', '--json')).out) as { name: string }[];
    assert.deepEqual(
      json.map(({ name }) => name),
      ['checkpoint_stage_0_epoch_0', 'checkpoint_stage_1_epoch_1'],
    );
  });

  it('verifies a checkpoint and prints its folder (show)', async () => {
    for (const which of ['made', 'made/best', 'made/latest', 'made/checkpoint_stage_1_epoch_1']) {
      const { name, folder: at } = JSON.parse((await checkpoints('show', which, '--json')).out) as {
        name: string;
        folder: string;
      };
      assert.equal(name, 'checkpoint_stage_1_epoch_1');
      assert.ok(existsSync(join(at, 'generator', 'adapter_model.safetensors')));
    }
    assert.match((await checkpoints('show')).out, /^checkpoint_stage_1_epoch_1 {2}score 0\.400\n\//);
  });

  it('refuses a malformed checkpoint name', async () => {
    for (const odd of ['made/', '/best', 'made/best/x', 'made/stage-1', ''])
      assert.match((await checkpoints('show', odd)).err, /^error: checkpoint '.*': write RUN\/NAME, .*\[BAD_INPUT\]$/m);
  });

  it('accepts an intact store; for a damaged file, it names a remedy and exits with code 2 (store verify)', async () => {
    const verify = (...argv: string[]) => inProcess('store', 'verify', ...argv, '--store', folder);
    const whole = await verify();
    assert.equal(whole.code, 0);
    assert.match(whole.out, /^✓ whole: 1 run, 4 checkpoints and pointers, 7 records, 0 memo rows, 2 artifacts/);
    const path = 'checkpoints/checkpoint_stage_0_epoch_0/pool.json';
    const good = await store.readRunFile('made', path);
    await store.writeRunFile('made', path, 'damaged');
    for (const argv of [[], ['made']]) {
      const damaged = await verify(...argv);
      assert.equal(damaged.code, 1);
      const line =
        /^✗ runs\/made\/checkpoints\/checkpoint_stage_0_epoch_0: pool\.json is damaged .*\n {4}continue from another/;
      assert.match(damaged.out, line);
      assert.match(damaged.out, /\n1 damaged or missing among 1 run,/);
    }
    const json = await verify('--json');
    assert.equal(json.code, 1);
    const verified = JSON.parse(json.out) as Verified;
    assert.deepEqual([verified.ok, verified.findings.length, verified.findings[0]?.kind], [false, 1, 'checkpoint']);
    await store.writeRunFile('made', path, good!);
    assert.match((await verify('none')).err, /no run 'none' in .*; there are: made/);
  });

  it('shows without a server when a run started, also in a copy of its store (status)', async () => {
    const place = await temporaryFolder();
    for (const n of ['1', '2'])
      await enterEnvironment(store, 'made', { part: 'sandbox', facts: { python: '3' }, details: { n } }, false);
    const [{ at: started }, second] = (await readEnvironments(store, 'made', 'sandbox')) as [{ at: string }, object];
    assert.ok(second);
    await inProcess('store', 'copy', folder, place);
    for (const where of [folder, place]) {
      const { out, err } = await inProcess('status', '--json', '--store', where);
      assert.deepEqual(JSON.parse(out || err), [{ id: 'made', status: 'ONLY IN THE STORE', started, finished: true }]);
    }
  });

  it('accepts a file: URL like a path, and refuses other schemes in one line', async () => {
    const byUrl = await inProcess('checkpoints', 'list', '--json', '--store', pathToFileURL(folder).href);
    assert.deepEqual(byUrl, await checkpoints('list', '--json'));
    const other = await inProcess('status', '--store', 'gs://bucket/runs');
    assert.equal(other.code, EXIT.usage);
    const line =
      /^error: store: gs:\/\/bucket\/runs is not supported; give a folder, a file: URL or s3:\/\/.* \[BAD_CONFIG\]\n$/;
    assert.match(other.err, line);
  });

  it('copies what is missing, and refuses a damaged store (store copy)', async () => {
    const copy = await temporaryFolder();
    const copied = JSON.parse((await inProcess('store', 'copy', folder, copy, '--json')).out) as Record<string, number>;
    assert.ok(copied.runs === 1 && copied.files! > 20 && copied.present === 0, JSON.stringify(copied));
    const listed = await inProcess('checkpoints', 'list', '--json', '--store', copy);
    assert.deepEqual(listed, await checkpoints('list', '--json'));
    const again = await inProcess('store', 'copy', folder, copy);
    assert.match(again.out, /^copied 1 run: 0 files, 0\.0 kB; \d+ were there\n✓ whole: 1 run,/);
    await (await openStore(copy)).writeRunFile('made', 'manifest.json', 'damaged');
    const damaged = await inProcess('store', 'copy', copy, await temporaryFolder());
    assert.equal(damaged.code, EXIT.failed);
    assert.match(damaged.err, /^error: nothing was copied: .*manifest\.json.* \[CORRUPT_ARTIFACT\]\n$/);
    assert.match((await inProcess('store', 'copy', join(copy, 'none'), copy)).err, /no store at .*\[NOT_FOUND\]/);
    assert.match(
      (await inProcess('store', 'copy', folder, `${folder}/`)).err,
      /both are the store .*: name another one to copy to \[BAD_INPUT\]/,
    );
  });

  it('reads a store in a bucket like a folder', async function () {
    const server = await requireS3(this);
    try {
      const url = server.url('cache=0');
      const missing = await inProcess('checkpoints', 'list', '--store', url);
      assert.match(missing.err, /no store at s3:.*\[NOT_FOUND\]/);
      assert.equal((await inProcess('store', 'copy', folder, url)).code, 0);
      const listed = await inProcess('checkpoints', 'list', '--json', '--store', url);
      assert.deepEqual(listed, await checkpoints('list', '--json'));
      const shown = await inProcess('checkpoints', 'show', '--store', url);
      assert.match(shown.out, /\ns3:\/\/.*\/runs\/made\/checkpoints\/checkpoint_stage_1_epoch_1\n$/);
      const swept = JSON.parse((await inProcess('store', 'gc', '--json', '--store', url)).out) as { bytes: number };
      assert.equal(swept.bytes, 0); // gc keeps all files: they have just been copied
    } finally {
      await server.close();
    }
  });

  it('prints what it would free, frees it, and keeps the run (store gc)', async () => {
    const { folder: at, store: own } = await madeRun();
    const old = await own.putJson({ nobody: 'refers to this' });
    const path = join(at, 'blobs/sha256', old.slice(7, 9), old.slice(9));
    const month = Date.now() / 1000 - 30 * 86_400;
    await utimes(path, month, month);
    const gc = (...argv: string[]) => inProcess('store', 'gc', ...argv, '--store', at);
    const foreseen = JSON.parse((await gc('--dry-run', '--json')).out) as { blobs: object; dryRun: boolean };
    assert.deepEqual([foreseen.dryRun, foreseen.blobs], [true, { files: 1, bytes: 27 }]);
    assert.match((await gc('--dry-run')).out, /^would free 0\.0 kB not used since .*\n {2}1 artifacts\n$/);
    assert.ok(await own.hasBlob(old));
    await utimes(path, month, month);
    const done = await gc();
    assert.match(done.out, /^freed /);
    assert.match(done.err, /no Temporal server answers: every run without a result/);
    assert.equal(await own.hasBlob(old), false);
    assert.equal((await inProcess('store', 'verify', '--store', at)).code, 0);
    for (const [flags, line] of [
      [['--older-than', 'soon'], /'--older-than <days>' argument 'soon' is invalid\. It is not a number of at least 0/],
    ] as const) {
      const refused = await gc(...flags);
      assert.equal(refused.code, EXIT.usage);
      assert.match(refused.err, line);
    }
  });

  it('keeps the data of a run that has no result yet (store gc)', async () => {
    const { folder: at } = await madeRun();
    const own = await openStore(at);
    const now = Date.now();
    assert.deepEqual((await openRuns(own, now - 1000, undefined)).open, []); // the run has ended
    await own.removeRunFile('made', 'result.json');
    const [unfinished] = (await openRuns(own, now - 1000, undefined)).open;
    assert.deepEqual([unfinished?.run, unfinished?.why], ['made', 'has no result, and no server knows its status']);
    assert.ok(unfinished!.since <= now && unfinished!.since > now - 60_000);
  });

  it('uses the latest run by default, and names it if there are several runs', async () => {
    await store.writeRunFile('other', 'manifest.json', '{}');
    const path = (run: string): string => join(folder, 'runs', run, 'manifest.json');
    const latest = async () => (await checkpoints('list')).err;
    await utimes(path('made'), 2, 2);
    await utimes(path('other'), 1, 1);
    assert.equal(await latest(), "run 'made' (started last of 2)\n");
    await utimes(path('other'), 3, 3);
    assert.equal(await latest(), "run 'other' (started last of 2)\n");
    assert.deepEqual((await checkpoints('list', 'made')).err, '');
  });
});

describe('gauntlet replay', () => {
  it('recomputes the rewards of a run, and runs its programs only in a sandbox that the run allows', async () => {
    const { deps, folder } = await doubles();
    const activities = createActivities(deps);
    try {
      await runPipeline(activities, 'public', { ...TINIEST_RUN, model: 'some/model' });
      await runPipeline(activities, 'numpy', { ...TINIEST_RUN, containers: { packages: 'numpy' } });
      const replay = (...argv: string[]) =>
        withEnvironment({ DOCKER_HOST: 'unix:///nowhere/docker.sock' }, 'replay', ...argv, '--store', folder);
      assert.match((await replay('public')).out, /all as recorded\n$/);
      for (const [run, message] of [
        ['public', /these programs need a security boundary.*\[SANDBOX_UNAVAILABLE\]$/m],
        ['numpy', /Docker does not answer.*\[SANDBOX_UNAVAILABLE\]$/m],
      ] as const) {
        const { code, err } = await replay(run, '--step', '1', '--execute');
        assert.deepEqual([code, message.test(err)], [EXIT.unavailable, true], err);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('gauntlet report', () => {
  after(removeFolders);

  it('writes the page from the records of a run', async () => {
    const { folder } = await madeRun();
    const { code, out } = await inProcess('report', '--store', folder);
    assert.equal(code, 0);
    assert.equal(out.trim(), join(folder, 'runs', 'made', 'report.html'));
    const page = readFileSync(out.trim(), 'utf8');
    for (const part of ['0.925', 'def add(a, b): return a - b', 'checkpoint_stage_1_epoch_1'])
      assert.ok(page.includes(part), part);
  });

  it('refuses a damaged result and names it', async () => {
    const { store } = await madeRun();
    await store.writeRunFile('made', 'result.json', '{}');
    await assert.rejects(readResult(store, 'made'), /result\.json of run made is damaged/);
  });
});

describe('the text output of a command', () => {
  it('shows pass@1 and pass@n as means over problems', () => {
    const code = (problemId: string, passed: number) => ({ problemId, code: '', passed, tests: 2 });
    const codes = [code('a', 2), code('a', 1), code('b', 0), code('b', 1), { ...code('c', 0), tests: 0 }, code('c', 2)];
    assert.deepEqual(meanPassAtK(codes), { pass1: 1 / 3, passN: 2 / 3 });
  });

  it('shows all four rates before and after training and their change', () => {
    const text = resultTable(RESULT);
    assert.deepEqual(rowsOf(text), [
      ['held-out problems', 'before', 'after', 'change'],
      ['pass rate (sampled)', '70.0 %', '92.5 %', '+22.5 points'],
      ['pass rate (greedy)', '72.0 %', '95.0 %', '+23.0 points'],
      ['test validity', '60.0 %', '80.0 %', '+20.0 points'],
      ['bug-catch rate', '10.0 %', '30.0 %', '+20.0 points'],
    ]);
    const counted = rowsOf(resultTable({ ...RESULT, problems: 2, after: { ...RESULT.after, greedyPassRate: 1 } }));
    assert.deepEqual(counted[0], ['2 held-out problems', 'before', 'after', '95 % interval', 'change']);
    assert.equal(counted[2]![3], '34.2 to 100.0');
    assert.match(
      resultTable({ ...RESULT, problems: 2, best: 'checkpoint_stage_0_epoch_0' }),
      /so few .*\n.*the untrained model/,
    );
    assert.match(
      text,
      /best checkpoint checkpoint_stage_1_epoch_1 · training steps 4 min 31 s · seed 0\nadapters a{8}, b{8}$/,
    );
    for (const line of text.split('\n')) assert.ok(stripVTControlCharacters(line).length < 80, line);
  });

  it('shows every answer, test, verdict and reward of a chain', () => {
    assert.equal(
      stripVTControlCharacters(chainText(VIEW)),
      `problem add-two
Return the sum of a and b.
def add(a, b):

stage 1 · informal reasoning
  add
  them
  tests of the discriminator (reward 0.25: a turn has a valid test, but none fails the program):
    0.25 = 0.5 × 0.5 valid
      +0.25  tests that agree with the reference: 1 of 3
    add(1, 2) == 3  pass
    add(1, 2) == 4  invalid: the reference disagrees
    1 unreadable

stage 5 · executable code
  def add(a, b): return a - b
  tests of the discriminator (reward 0.50: a valid test of a turn fails the program):
    0.50 = 0.5 caught
      +0.50  tests that agree and fail the program: 1 of 1
    add(0, 1) == 1  fail

baseline tests
    add(0, 0) == 0  pass
generator reward -0.10: a program fails a test
  -0.10 = 0.4 passed − 0.5 shift
    +0.40  40 % of its tests pass
    −0.50  every program pays it
reward scheme shifted, see docs/method.md#rewards`,
    );
  });

  it('prints a failure as one line with the code of the innermost cause', () => {
    const inner = Object.assign(new Error('the model is gone\nstack'), { type: 'BAD_MODEL' });
    assert.equal(
      describeError(new Error('outer', { cause: new Error('middle', { cause: inner }) })),
      'the model is gone [BAD_MODEL]',
    );
    assert.equal(describeError(new GauntletError('BAD_INPUT', 'line', { cause: inner })), 'line [BAD_INPUT]');
    assert.equal(describeError('text'), 'text');
    process.env.GAUNTLET_DEBUG = '1';
    assert.match(describeError(inner), /\n\s+at /);
    delete process.env.GAUNTLET_DEBUG;
  });

  it('maps a failure to an exit code and prints it as one JSON object with --json', async () => {
    const exit = (error: unknown): number => failureOf(error).exitCode;
    assert.equal(exit(new GauntletError('BAD_INPUT', 'x')), EXIT.usage);
    assert.equal(exit(new GauntletError('SERVER_UNAVAILABLE', 'x')), EXIT.unavailable);
    assert.equal(exit(new TypeError('a bug')), EXIT.failed);
    const failed = new WorkflowFailedError(
      '',
      ApplicationFailure.create({ type: 'STORE_FAULT' }),
      'NON_RETRYABLE_FAILURE',
    );
    assert.equal(exit(failed), EXIT.failed, 'a failed run, whatever its code is');
    assert.equal(exit(endedFrom(failed, 'mine')), EXIT.failed);
    const { code, out, err } = await inProcess('report', 'none', '--json', '--store', (await madeRun()).folder);
    assert.deepEqual([code, out], [EXIT.usage, '']);
    const { error } = JSON.parse(err) as { error: { code: string; message: string; hint: string } };
    assert.deepEqual(Object.keys(error).sort(), ['code', 'hint', 'message']);
    assert.deepEqual([error.code, error.hint], ['NOT_FOUND', ERROR_CODES.NOT_FOUND.help]);
    assert.match(error.message, /^no run 'none' in /);
    const unknown = await inProcess('report', '--jsn', '--json');
    assert.equal(unknown.code, EXIT.usage);
    assert.match(JSON.parse(unknown.err).error.message, /^unknown option '--jsn' \(Did you mean --json\?\)$/);
  });

  it('has colours as NO_COLOR and FORCE_COLOR say, also in error messages', async () => {
    const error = async (env: Record<string, string | undefined>): Promise<string> =>
      (await withEnvironment({ NO_COLOR: undefined, FORCE_COLOR: undefined, ...env }, 'tain')).err;
    assert.ok((await error({ FORCE_COLOR: '1' })).startsWith('\u001b[31merror\u001b[39m: '));
    assert.match(await error({ NO_COLOR: '1' }), /^error: /);
  });

  it('has its own colours but no others, and keeps the cells of a table on their lines', () => {
    const text = '\u001b[31m\u202e\na';
    process.env.FORCE_COLOR = '1';
    const shown = printable(`${paint('bold', text)}\n${tableText(['id'], [[text]])}`);
    delete process.env.FORCE_COLOR;
    assert.ok(shown.startsWith('\u001b[1m\\u{1b}[31m\\u{202e}\na\u001b[22m\n'), shown);
    assert.deepEqual(rowsOf(shown), [['id'], ['\\u{1b}[31m\\u{202e} a']]);
  });

  it('names the server that no longer answers, and the command to run', () => {
    const lost = Object.assign(new Error('14 UNAVAILABLE: No connection established. Last error: …'), {
      code: 14,
      details: 'No connection established. Last error: …',
      metadata: {},
    });
    assert.equal(
      describeError(new Error('outer', { cause: lost })),
      'the Temporal server no longer answers (No connection established): start one with npx gauntlet up, then run the same command again [SERVER_UNAVAILABLE]',
    );
  });

  it('does not say that a server moved which refuses a call', () => {
    const refused = Object.assign(new Error('9 FAILED_PRECONDITION: not ready'), {
      code: 9,
      details: 'Workflow is not ready',
      metadata: {},
    });
    assert.match(failureOf(refused).message, /^9 FAILED_PRECONDITION: not ready/);
  });

  it('names a missing namespace and the variable to set', () => {
    assert.equal(
      describeError(new Error('outer', { cause: new NamespaceNotFoundError('mine') })),
      'the Temporal server has no namespace mine: set TEMPORAL_NAMESPACE to one that it has [SERVER_UNAVAILABLE]',
    );
  });

  it('explains how to continue a run that was terminated or failed', () => {
    const lineOf = (cause: Error): string =>
      describeError(endedFrom(new WorkflowFailedError('', cause, 'NON_RETRYABLE_FAILURE'), 'mine') ?? cause);
    const way = 'continue with: npx gauntlet resume mine --watch';
    assert.equal(
      lineOf(new TerminatedFailure('new disk')),
      `run 'mine' was terminated (new disk); ${way} [RUN_FAILED]`,
    );
    assert.equal(lineOf(new CancelledFailure('x')), `run 'mine' was cancelled; ${way} [RUN_FAILED]`);
    assert.equal(
      lineOf(new TimeoutFailure('x', undefined, 'START_TO_CLOSE')),
      `run 'mine' timed out; ${way} [RUN_FAILED]`,
    );
    const failed = (type: string): Error =>
      new Error('activity', { cause: ApplicationFailure.create({ type, message: 'no disk' }) });
    assert.equal(lineOf(failed('STORE_FAULT')), `no disk; ${way} [STORE_FAULT]`);
    const other = 'start another run with a corrected configuration: npx gauntlet train NEW-RUN …';
    assert.equal(lineOf(failed('BAD_CONFIG')), `no disk; ${other} [BAD_CONFIG]`);
    assert.equal(endedFrom(new Error('else'), 'mine'), undefined);
  });

  it('refuses a workflow that is not a training run', () => {
    const line = "'mine' is not a training run but a solveProblems: name a run, as in npx gauntlet status RUN";
    assert.throws(() => checkIsRun({ workflowId: 'mine', type: 'solveProblems' }, 'status'), {
      code: 'BAD_INPUT',
      message: line,
    });
    checkIsRun({ workflowId: 'mine', type: 'trainFullPipeline' }, 'status');
  });

  it('shows rounded times and rates', () => {
    assert.deepEqual([duration(59.4), duration(125), duration(Number.NaN)], ['59 s', '2 min 05 s', '–']);
    assert.deepEqual([percent(0.12345), percent(undefined)], ['12.3 %', '–']);
  });
});

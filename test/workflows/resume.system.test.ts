// `gauntlet resume` for runs in every state, on a real server. Each run completes with the bytes of an undisturbed run.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Decision } from '../../core/run/control.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import { workflowBundle } from '../../workers/bundle.js';
import { gauntlet } from '../cli/support.js';
import { RUN, TWO_STAGES, undisturbed } from './disturbances.js';
import { CHANGE, FAILS, resumeFixture } from './resumeFixture.js';

describe('gauntlet resume', () => {
  const { f, resume, statusOf, ended, completesAsUndisturbed, continuesAfter } = resumeFixture();
  const refused = (decision: Decision | undefined, code: string, message: RegExp) =>
    assert.rejects(resume(decision), { code, message });

  describe('for a running run', () => {
    it('retries the failed activity of a run that waits', async () => {
      const { repair } = f.failUpdates(2);
      await f.start();
      await f.until('waiting');
      repair();
      assert.equal((await resume()).said, 'runs trainPolicy again');
      await completesAsUndisturbed();
    });

    it('skips the step with --skip and ends the run with --abort, after which it completes without the skipped step', async () => {
      const { repair } = f.failUpdates(3);
      await f.start();
      await f.until('waiting');
      assert.equal((await resume('skip')).said, 'skips the step of trainPolicy');
      await f.until(({ state, step }) => state === 'waiting' && step === 2); // the next step also fails
      while ((await f.controls()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      for (let isAccepted = false; !isAccepted; ) {
        isAccepted = await resume('abort').then(
          ({ said }) => said === 'ends',
          () => false, // the next step has not failed yet
        );
      }
      await ended();
      await refused('abort', 'BAD_INPUT', /is failed: it needs no decision/);
      repair();
      const { joined, said } = await resume();
      assert.deepEqual([joined.how, said], ['restarted', 'was failed: continues where it ended']);
      await f.completed();
      assert.equal((await f.steps()).length, 3);
      assert.deepEqual(await f.actions(), [['skip', 2]]);
    });

    it('exits with 0 after --abort, and names the command that continues the run', async () => {
      f.failUpdates(1);
      const env = { TEMPORAL_ADDRESS: f.host.server.address };
      for (const watch of [[], ['--watch']]) {
        f.next();
        await f.start();
        await f.until('waiting');
        const { code, out, err } = await gauntlet(
          ['resume', f.id, '--abort', ...watch, '--store', f.world.folder],
          env,
        );
        assert.equal(code, 0, err);
        assert.ok(out.includes(`npx gauntlet resume ${f.id} --watch --store ${f.world.folder}\n`), out);
        assert.match(err, new RegExp(`run '${f.id}' ends$`, 'm'));
        assert.doesNotMatch(err, /follow|no worker/);
        if (watch.length > 0) assert.equal(await statusOf(), 'FAILED');
        await ended();
      }
    });

    it('ends the pause of a paused run', async () => {
      const hold = f.holdUpdate(1);
      await f.start();
      await hold.reached;
      await f.update('pause');
      hold.release();
      await f.until('paused');
      assert.equal((await resume()).said, 'continues after its pause');
      await completesAsUndisturbed();
    });

    it('does nothing if the run has completed or already runs', async () => {
      const hold = f.holdUpdate(1);
      await f.start();
      await hold.reached;
      assert.equal((await resume()).said, 'is running');
      await refused('abort', 'BAD_INPUT', /needs no decision/);
      hold.release();
      await completesAsUndisturbed();
      const again = await resume();
      assert.deepEqual([again.joined.how, again.said], ['finished', 'has finished; nothing to do']);
    });

    it('says that the run continues with the next worker if no worker runs', async () => {
      const { repair } = f.failUpdates(2);
      await f.start();
      await f.until('waiting');
      repair();
      await f.stopWorkers();
      assert.equal((await resume()).said, 'continues as soon as a worker serves it');
      await refused('skip', 'SERVER_UNAVAILABLE', /no worker serves runs/);
      await f.serve();
      assert.equal((await resume()).said, 'runs trainPolicy again');
      await completesAsUndisturbed();
    });
  });

  describe('for a closed run', () => {
    it('repeats a failed evaluation, and keeps the step that ran beside it', async () => {
      const { repair } = f.failWrite('metrics/1-validation.json');
      const counter = f.beforeUpdate(() => undefined);
      await f.start(FAILS);
      await ended();
      repair();
      await resume();
      await completesAsUndisturbed();
      assert.equal(counter.calls, 4);
    });

    it('resets the run once if two users resume it at the same time', async () => {
      const { repair } = f.failUpdates(2);
      await f.start(FAILS);
      await ended();
      repair();
      const both = await Promise.all([resume(), resume()]);
      for (const { joined } of both) assert.match(joined.how, /^(restarted|joined)$/);
      await completesAsUndisturbed();
      const executions = [];
      for await (const { runId } of f.host.client.workflow.list({ query: `WorkflowId = '${f.id}'` }))
        executions.push(runId);
      assert.ok(executions.length <= 2, `${executions.length} executions`);
    });

    it('continues a run that was cancelled, with all requests that it had accepted', () =>
      continuesAfter('cancelled', (handle) => handle.cancel()));

    it('continues a run that timed out, with all requests that it had accepted', () =>
      // the time limit is far longer than the two remaining steps need, even on a busy machine
      continuesAfter('timed out', () => undefined, { workflowExecutionTimeout: '30s' }));

    it('pauses a run again if it was terminated during its pause', async () => {
      const hold = f.holdUpdate(1);
      const handle = await f.start();
      await hold.reached;
      await f.update('pause');
      hold.release();
      await f.until('paused');
      await handle.terminate('by hand');
      assert.equal((await resume()).said, 'was terminated: continues where it ended');
      assert.equal((await f.until('paused')).step, 1);
      assert.equal((await resume()).said, 'continues after its pause');
      await completesAsUndisturbed();
      assert.deepEqual(await f.actions(), [
        ['pause', 1],
        ['resume', 1],
      ]);
    });

    it('waits for the decision again if the run was terminated while it waited', async () => {
      const { repair } = f.failUpdates(2);
      const handle = await f.start();
      await f.until('waiting');
      await handle.terminate('by hand');
      await resume();
      await f.until('waiting');
      repair();
      assert.equal((await resume()).said, 'runs trainPolicy again');
      await completesAsUndisturbed();
    });

    it('skips the step if the run was terminated before the decision was recorded', async () => {
      const { repair } = f.failUpdates(2);
      const record = f.holdWrite('metrics/1-control-0.json');
      const handle = await f.start();
      await f.until('waiting');
      await resume('skip');
      await record.reached;
      await handle.terminate('by hand');
      repair();
      await resume();
      record.release();
      await f.completed();
      assert.equal((await f.steps()).length, 3);
      assert.deepEqual(await f.actions(), [['skip', 1]]);
    });

    it('continues a run that had continued as new, and a run that was resumed before', async () => {
      const hold = f.holdUpdate(3);
      const handle = await f.start(TWO_STAGES);
      for (let time = 1; time <= 2; time++) {
        await hold.reached;
        await handle.terminate('by hand');
        await resume();
      }
      hold.release();
      assert.deepEqual(await f.completed(), (await undisturbed(TWO_STAGES)).bytes);
    });
  });

  describe('after an upgrade that cannot replay the history', () => {
    /** Workflow code that first starts a timer, unlike the current code. */
    async function olderCode(): Promise<string> {
      const code = await readFile(await workflowBundle(), 'utf8');
      const [found, head, sdk] =
        /(async function trainFullPipeline\([^)]*\) \{)[\s\S]*?(_temporalio_workflow__WEBPACK\w+)/.exec(code) ?? [];
      assert.ok(found && head && sdk);
      const path = join(f.world.folder, 'older.js');
      await writeFile(path, code.replace(head, `${head} await (0,${sdk}.sleep)('1ms');`));
      return path;
    }

    it('starts a running run again from the store, and says why', async () => {
      await f.serve({ workflows: await olderCode() });
      const { repair, counter } = f.failUpdates(2);
      const handle = await f.start();
      await f.until('waiting');
      await f.serve();
      repair();
      const { joined, said } = await resume();
      assert.equal(joined.how, 'restarted');
      assert.match(
        said,
        /^could not continue \(its history does not match this version: .*\): started again from the store/,
      );
      await completesAsUndisturbed();
      const first = f.host.client.workflow.getHandle(f.id, handle.firstExecutionRunId);
      assert.equal((await first.describe()).status.name, 'TERMINATED');
      assert.equal(counter.calls, 5, 'completed steps are not repeated');
    });

    it('starts a terminated run again from the store, with the requests that it had applied', async () => {
      await f.serve({ workflows: await olderCode() });
      const [change, hold] = [f.holdUpdate(1), f.holdUpdate(3)];
      const handle = await f.start();
      await change.reached;
      await f.update('change', CHANGE);
      change.release();
      await hold.reached;
      const controls = await f.controls();
      await handle.terminate('by hand');
      hold.release(); // the workers end after their activities
      await f.serve();
      const { said } = await resume();
      assert.match(said, /^was terminated: started again from the store/);
      const { at } = controls[0]!;
      assert.deepEqual(
        await f.completed(),
        (await undisturbed(RUN, { 1: [{ kind: 'change', fields: CHANGE, at }] })).bytes,
      );
      assert.deepEqual(await f.controls(), controls, 'replayed requests are not recorded again');
    });

    it('refuses --skip, and terminates the run with --abort', async () => {
      await f.serve({ workflows: await olderCode() });
      f.failUpdates(1);
      await f.start();
      await f.until('waiting');
      await f.serve();
      await refused('skip', 'BAD_INPUT', /cannot process requests/);
      assert.match((await resume('abort')).said, /^ends: its history does not match this version/);
      assert.equal(await statusOf(), 'TERMINATED');
    });
  });

  it('refuses a workflow that is not a training run, and an unknown run', async () => {
    await refused(undefined, 'NOT_FOUND', /no run 'resumed-/);
    const options = { taskQueue: TASK_QUEUES.orchestrator, workflowId: f.id, args: [{ split: 'validation' }] };
    await (await f.host.client.workflow.start('solveProblems', options)).result();
    await refused(undefined, 'BAD_INPUT', /is not a training run but a solveProblems/);
  });
});

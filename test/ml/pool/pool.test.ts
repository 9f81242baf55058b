import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { GauntletError } from '../../../core/base/errors.js';
import { NODE_FLAGS } from '../../../infra/scripts.js';
import { WorkerPool } from '../../../ml/pool/pool.js';

const coded = (code: string, pattern: RegExp) => (error: unknown) =>
  error instanceof GauntletError && error.code === code && pattern.test(error.message);

describe('worker pool', () => {
  let pool: WorkerPool;
  let workers: number;
  const count = (): number => workers++;
  before(() => process.on('worker', count));
  after(() => process.off('worker', count));
  beforeEach(() => {
    workers = 0;
    pool = new WorkerPool(new URL('./faultyWorker.js', import.meta.url), {}, 2);
  });
  afterEach(() => pool.close());

  it('returns results in the order of the jobs and reports progress', async () => {
    let progress = 0;
    const jobs = Array.from({ length: 7 }, (_, value) => ({ act: 'echo', value }));
    const results = await pool.runAll<number>(jobs, { onProgress: (n) => (progress += n) });
    assert.deepEqual(results, [0, 1, 2, 3, 4, 5, 6]);
    assert.equal(progress, 14);
  });

  it('runs as many jobs at a time as allowed', async () => {
    const values = [0, 1, 2, 3, 4, 5, 6];
    const jobs = values.map((value) => ({ act: 'echo', value }));
    for (const [concurrency, expected] of [[1, 1] as const, [9, 2] as const]) {
      assert.deepEqual(await pool.runAll(jobs, { concurrency }), values);
      assert.equal(workers, expected, 'a worker starts when the others are busy');
    }
  });

  it('starts no worker while another one stops an aborted job', async () => {
    const controller = new AbortController();
    const aborted = pool.run({ act: 'wait' }, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await assert.rejects(aborted, /enough/);
    assert.equal(await pool.run({ act: 'echo', value: 5 }), 5);
    assert.equal(workers, 1);
  });

  it('works in a program that is given on the command line', async () => {
    const script = new URL('./faultyWorker.js', import.meta.url);
    const program = `
      import { WorkerPool } from '${import.meta.resolve('../../../ml/pool/pool.js')}';
      const pool = new WorkerPool(new URL('${script}'), {}, 1);
      console.log(await pool.run({ act: 'echo', value: 5 }));
      await pool.close();`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...NODE_FLAGS,
      '--input-type=module',
      '-e',
      program,
    ]);
    assert.equal(stdout, '5\n');
  });

  it('a worker that dies fails its job with ENGINE_FAULT and is replaced', async () => {
    await assert.rejects(pool.run({ act: 'throw' }), coded('ENGINE_FAULT', /died: boom/));
    await assert.rejects(pool.run({ act: 'exit' }), coded('ENGINE_FAULT', /died: exit status 3/));
    assert.deepEqual(await pool.runAll([1, 2, 3].map((value) => ({ act: 'echo', value }))), [1, 2, 3]);
  });

  it('an error of a job keeps its code, and gets ENGINE_FAULT if it has none', async () => {
    await assert.rejects(pool.run({ act: 'fail', value: 'BAD_ADAPTER' }), coded('BAD_ADAPTER', /said so/));
    await assert.rejects(pool.run({ act: 'fail', value: 'odd' }), coded('ENGINE_FAULT', /said so/));
  });

  it('an abort rejects at once with its reason, frees the worker and removes queued jobs', async () => {
    const controller = new AbortController();
    const runs = Array.from({ length: 3 }, () => pool.run({ act: 'wait' }, { signal: controller.signal }));
    controller.abort(new Error('enough'));
    for (const run of runs) await assert.rejects(run, /enough/);
    assert.equal(await pool.run({ act: 'echo', value: 5 }), 5);
    await assert.rejects(pool.run({ act: 'echo' }, { signal: controller.signal }), /enough/);
  });

  it('one failure stops the other jobs of its request', async () => {
    const failed = pool.runAll([{ act: 'wait' }, { act: 'fail', value: 'BAD_INPUT' }]);
    await assert.rejects(failed, coded('BAD_INPUT', /said so/));
    assert.equal(await pool.run({ act: 'echo', value: 6 }), 6);
  });

  it('a new worker tries a job once more if the memory of the card was full', async () => {
    await assert.rejects(pool.run({ act: 'fail', value: 'OUT_OF_MEMORY' }), coded('OUT_OF_MEMORY', /said so/));
    assert.equal(workers, 2);
  });

  it('closing fails running jobs and refuses new ones', async () => {
    const running = pool.run({ act: 'wait' });
    const closing = pool.close();
    await assert.rejects(running, coded('ENGINE_FAULT', /was closed/));
    await closing;
    await assert.rejects(pool.run({ act: 'echo' }), coded('ENGINE_FAULT', /is closed/));
  });
});

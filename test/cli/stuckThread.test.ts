// A thread that is stuck in native code, as in a driver that hangs. Node can neither end the thread nor exit.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { NODE_FLAGS } from '../../infra/scripts.js';

const MAIN = new URL('../../cli/main.js', import.meta.url).href;
const STUCK = `require('node:child_process').spawnSync('sleep', ['20'])`;

describe('a command whose model call hangs', () => {
  const endOf = async (stuck: string): Promise<unknown[]> => {
    const script = `
      const { Worker } = await import('node:worker_threads');
      const { endStuckThreads } = await import(${JSON.stringify(MAIN)});
      new Worker(${JSON.stringify(stuck)}, { eval: true, execArgv: [] });
      process.exitCode = 3;
      endStuckThreads();`;
    const child = spawn(process.execPath, [...NODE_FLAGS, '--input-type=module', '-e', script], { stdio: 'ignore' });
    return once(child, 'exit');
  };

  it('ends although a thread is stuck', async () => {
    assert.deepEqual(await endOf(STUCK), [null, 'SIGKILL']);
  });

  it('keeps its exit code if no thread is stuck', async () => {
    assert.deepEqual(await endOf(''), [3, null]);
  });
});

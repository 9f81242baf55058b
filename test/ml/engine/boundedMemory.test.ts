// Samples and trains in processes of their own, with and without a small memory budget.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { scriptArguments } from '../../../infra/scripts.js';

const script = scriptArguments(new URL('../../support/trainUnderBudget.js', import.meta.url));

interface Run {
  digest: string;
  peak: number;
  half: number;
  end: number;
}

async function train(GAUNTLET_MEMORY: string): Promise<Run> {
  const env = { ...process.env, GAUNTLET_MEMORY, NODE_V8_COVERAGE: '' };
  const { stdout } = await promisify(execFile)(process.execPath, script, { env });
  return JSON.parse(stdout) as Run;
}

describe('an engine with a memory budget', () => {
  before(function () {
    if (process.platform !== 'linux') this.skip(); // memory is read from /proc
  });

  it('stays within it, and has the same results as without one', async () => {
    const small = await train('500MB');
    const free = await train('');
    assert.equal(small.digest, free.digest);
    assert.ok(small.peak < 550e6, `the peak is ${small.peak}`);
    assert.ok(free.peak < 800e6, `the peak without a budget is ${free.peak}`);
    assert.ok(free.end < free.half + 100e6, `grows from ${free.half} to ${free.end}`);
  });
});

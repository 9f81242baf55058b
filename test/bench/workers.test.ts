// The benchmark of several workers: its table, and two tiny runs of the command line.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { speedUps, type WorkerFigures } from '../../bench/workers/main.js';
import { ROOT } from '../../infra/root.mjs';
import { removeTemporaryFolders, temporaryFolder } from '../infra/support.js';
import { needTemporal } from '../workflows/server.js';

describe('the benchmark of several workers', () => {
  after(removeTemporaryFolders);

  it('shows how much faster they are than the first row', () => {
    const text = speedUps([
      { workers: 1, sampling: 60, training: 30, seconds: 100 },
      { workers: 4, sampling: 20, training: 15, seconds: 40 },
    ]);
    assert.equal(text.split('\n').at(-1), '| 4 | 20.0 s (3.00×) | 15.0 s (2.00×) | 40.0 s (2.50×) |');
  });

  it('measures one and two workers', async function () {
    this.timeout(600_000);
    needTemporal(this);
    const out = join(temporaryFolder(), 'workers.json');
    const small = [
      ...['schedule.stages=[5]', 'schedule.discriminatorSteps=0', 'schedule.generatorSteps=1'],
      ...['schedule.alternatingSteps=0', 'discriminator.enabled=false', 'advantage.dropZeroVariance=false'],
      ...['batch.generator.problems=2', 'evaluation.problems=2', 'evaluation.testProblems=2'],
    ].flatMap((assignment) => ['--set', assignment]);
    const command = ['dist/bench/main.js', 'workers', '--workers', '1,2', '--preset', 'tiny', '--out', out, ...small];
    const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: ROOT });
    assert.match(stdout, /^\| 2 \| \d+\.\d s \(\d+\.\d\d×\)/m);
    const { all } = JSON.parse(readFileSync(out, 'utf8')) as { all: WorkerFigures[] };
    for (const { sampling, training, seconds } of all) {
      assert.ok(sampling > 0 && training > 0, JSON.stringify(all));
      assert.ok(seconds >= sampling + training);
    }
  });
});
